// Sends a payment confirmation: java docs/callbacks/Send.java SCHEME NAME=VALUE...
// Needs a JDK of version 11 or newer.
import java.io.ByteArrayOutputStream;
import java.math.BigInteger;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyFactory;
import java.security.MessageDigest;
import java.security.Signature;
import java.security.spec.PKCS8EncodedKeySpec;
import java.security.spec.X509EncodedKeySpec;
import java.time.Duration;
import java.util.Arrays;
import java.util.Base64;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import javax.crypto.Cipher;

import static java.nio.charset.StandardCharsets.UTF_8;

class Send {
    static String read(String name) throws Exception {
        return Files.readString(Path.of("config/demo", name)).trim();
    }

    static byte[] der(String name) throws Exception {
        return Base64.getMimeDecoder().decode(read(name).replaceAll("-----.*-----", ""));
    }

    static String base64url(byte[] data) {
        return Base64.getUrlEncoder().withoutPadding().encodeToString(data);
    }

    static String md5Hex(String text) throws Exception {
        byte[] sum = MessageDigest.getInstance("MD5").digest(text.getBytes(UTF_8));
        return String.format("%032x", new BigInteger(1, sum));
    }

    static String signRsa(String text) throws Exception {
        Signature signature = Signature.getInstance("SHA256withRSA");
        var key = new PKCS8EncodedKeySpec(der("platform.private.pem"));
        signature.initSign(KeyFactory.getInstance("RSA").generatePrivate(key));
        signature.update(text.getBytes(UTF_8));
        return base64url(signature.sign());
    }

    static String encryptRsa(String text) throws Exception {
        Cipher cipher = Cipher.getInstance("RSA/ECB/PKCS1Padding");
        var key = new X509EncodedKeySpec(der("merchant.public.pem"));
        cipher.init(Cipher.ENCRYPT_MODE, KeyFactory.getInstance("RSA").generatePublic(key));
        byte[] plaintext = text.getBytes(UTF_8);
        var result = new ByteArrayOutputStream();
        for (int at = 0; at < plaintext.length; at += 245)
            result.write(cipher.doFinal(plaintext, at, Math.min(245, plaintext.length - at)));
        return base64url(result.toByteArray());
    }

    /** Java has no JSON of its own. The members have no control characters. */
    static String json(Map<String, String> members) {
        return members.entrySet().stream()
            .map(member -> quoted(member.getKey()) + ":" + quoted(member.getValue()))
            .collect(Collectors.joining(",", "{", "}"));
    }

    static String quoted(String text) {
        return '"' + text.replace("\\", "\\\\").replace("\"", "\\\"") + '"';
    }

    public static void main(String[] arguments) throws Exception {
        // Sorted by name
        var members = new TreeMap<String, String>();
        for (String argument : Arrays.asList(arguments).subList(1, arguments.length)) {
            String[] parts = argument.split("=", 2);
            members.put(parts[0], parts[1]);
        }
        String text = members.entrySet().stream()
            .map(member -> member.getKey() + member.getValue())
            .collect(Collectors.joining());
        Map<String, String> body = members;
        switch (arguments[0]) {
            case "md5":
                body.put("sign", md5Hex(text + read("shop.secret")));
                break;
            case "rsa":
                body.put("sign", signRsa(text));
                break;
            case "rsa-envelope":
                String appId = members.remove("appKey");
                String plaintext = json(members);
                String sign = signRsa(md5Hex(plaintext));
                body = Map.of("app_id", appId, "data", encryptRsa(plaintext), "sign", sign);
                break;
        }

        String url = System.getenv().getOrDefault("URL", "http://127.0.0.1:8080");
        HttpRequest request = HttpRequest.newBuilder()
            .uri(URI.create(url + "/nofity/transferToMerchantAuthCheck"))
            .version(HttpClient.Version.HTTP_1_1)
            .timeout(Duration.ofSeconds(5))
            .header("Content-Type", "application/json")
            .POST(HttpRequest.BodyPublishers.ofString(json(body)))
            .build();
        var response = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
        String answer = response.body() + " " + response.statusCode();
        System.out.println(answer);
        System.exit(answer.equals("SUCCESS 200") ? 0 : 1);
    }
}

<?php
// Sends a payment confirmation: php docs/callbacks/send.php SCHEME NAME=VALUE...
// Needs PHP 8 with the extension openssl.

function read(string $name): string
{
    return trim(file_get_contents("config/demo/$name"));
}

function base64url(string $data): string
{
    return rtrim(strtr(base64_encode($data), '+/', '-_'), '=');
}

function sign_rsa(string $text): string
{
    openssl_sign($text, $sign, read('platform.private.pem'), OPENSSL_ALGO_SHA256);
    return base64url($sign);
}

function encrypt_rsa(string $plaintext): string
{
    $result = '';
    foreach (str_split($plaintext, 245) as $part) {
        openssl_public_encrypt($part, $block, read('merchant.public.pem'), OPENSSL_PKCS1_PADDING);
        $result .= $block;
    }
    return base64url($result);
}

$scheme = $argv[1];
$members = [];
foreach (array_slice($argv, 2) as $argument) {
    [$name, $value] = explode('=', $argument, 2);
    $members[$name] = $value;
}
ksort($members, SORT_STRING);
$text = '';
foreach ($members as $name => $value) {
    $text .= $name . $value;
}
if ($scheme === 'md5') {
    $members['sign'] = md5($text . read('shop.secret'));
} elseif ($scheme === 'rsa') {
    $members['sign'] = sign_rsa($text);
} elseif ($scheme === 'rsa-envelope') {
    $app_id = $members['appKey'];
    unset($members['appKey']);
    $plaintext = json_encode($members);
    $sign = sign_rsa(md5($plaintext));
    $members = ['app_id' => $app_id, 'data' => encrypt_rsa($plaintext), 'sign' => $sign];
}

$response = fopen(
    (getenv('URL') ?: 'http://127.0.0.1:8080') . '/nofity/transferToMerchantAuthCheck',
    'r',
    false,
    stream_context_create(['http' => [
        'method' => 'POST',
        'header' => 'Content-Type: application/json',
        'content' => json_encode($members),
        'timeout' => 5,
        'ignore_errors' => true,
    ]]),
);
$status = explode(' ', stream_get_meta_data($response)['wrapper_data'][0])[1];
$answer = stream_get_contents($response) . " $status";
echo "$answer\n";
exit($answer === 'SUCCESS 200' ? 0 : 1);

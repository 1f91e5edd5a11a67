# Sends a payment confirmation: python3 docs/callbacks/send.py SCHEME NAME=VALUE...
#
# RSA by pow() is fine for a test. A program that holds a real private key should use a library that
# computes in constant time, such as `cryptography`.
import base64, hashlib, json, os, secrets, sys, urllib.request

KEYS = "config/demo/"


def read(name):
    with open(KEYS + name) as file:
        return file.read().strip()


def numbers(der):
    """The integers in a DER key, in their order: n, e, d for a private key, n, e for a public one."""
    found = []
    while der:
        tag, length, start = der[0], der[1], 2
        if length > 127:
            start += length - 128
            length = int.from_bytes(der[2:start], "big")
        value, der = der[start : start + length], der[start + length :]
        if tag == 0x02:
            found.append(int.from_bytes(value, "big"))
        elif tag in (0x30, 0x04):  # a sequence, or the key within PKCS#8
            found += numbers(value)
        elif tag == 0x03:  # the key within X.509
            found += numbers(value[1:])
    return [number for number in found if number > 0]


def key(name):
    return numbers(base64.b64decode("".join(read(name).splitlines()[1:-1])))


def sign_rsa(text):
    n, _, d = key("platform.private.pem")[:3]
    size = (n.bit_length() + 7) // 8
    info = bytes.fromhex("3031300d060960864801650304020105000420") + hashlib.sha256(text).digest()
    block = b"\x00\x01" + b"\xff" * (size - 3 - len(info)) + b"\x00" + info
    return base64url(pow(int.from_bytes(block, "big"), d, n).to_bytes(size, "big"))


def encrypt_rsa(plaintext):
    n, e = key("merchant.public.pem")
    size = (n.bit_length() + 7) // 8
    result = b""
    for at in range(0, len(plaintext), size - 11):
        part = plaintext[at : at + size - 11]
        filler = bytes(secrets.randbelow(255) + 1 for _ in range(size - 3 - len(part)))
        block = b"\x00\x02" + filler + b"\x00" + part
        result += pow(int.from_bytes(block, "big"), e, n).to_bytes(size, "big")
    return base64url(result)


def base64url(data):
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def md5_hex(data):
    return hashlib.md5(data).hexdigest()


scheme = sys.argv[1]
members = dict(argument.split("=", 1) for argument in sys.argv[2:])
text = "".join(name + members[name] for name in sorted(members)).encode()
if scheme == "md5":
    members["sign"] = md5_hex(text + read("shop.secret").encode())
elif scheme == "rsa":
    members["sign"] = sign_rsa(text)
elif scheme == "rsa-envelope":
    app_id = members.pop("appKey")
    plaintext = json.dumps(members).encode()
    sign = sign_rsa(md5_hex(plaintext).encode())
    members = {"app_id": app_id, "data": encrypt_rsa(plaintext), "sign": sign}

request = urllib.request.Request(
    os.environ.get("URL", "http://127.0.0.1:8080") + "/nofity/transferToMerchantAuthCheck",
    json.dumps(members).encode(),
    {"Content-Type": "application/json"},
)
with urllib.request.urlopen(request, timeout=5) as response:
    answer = f"{response.read().decode()} {response.status}"
print(answer)
sys.exit(answer != "SUCCESS 200")

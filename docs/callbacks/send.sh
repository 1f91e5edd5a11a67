# Sends a payment confirmation: sh docs/callbacks/send.sh SCHEME NAME=VALUE...
# Needs curl and OpenSSL.
set -eu
keys=config/demo

base64url() { openssl base64 -A | tr '+/' '-_' | tr -d '='; }
md5() { openssl dgst -md5 -r | cut -c 1-32 | tr -d '\n'; }
sign_rsa() { openssl dgst -sha256 -sign $keys/platform.private.pem | base64url; }
lines() { printf '%s\n' "$@"; }
json() { # the object of the lines NAME=VALUE
  printf '{%s}' "$(sed 's/["\\]/\\&/g; s/\([^=]*\)=\(.*\)/"\1":"\2"/' | paste -s -d , -)"
}
encrypt_rsa() { # in blocks of 245 bytes
  blocks=$(mktemp -d)
  split -b 245 - "$blocks/"
  for block in "$blocks"/*; do
    openssl pkeyutl -encrypt -pubin -inkey $keys/merchant.public.pem \
      -pkeyopt rsa_padding_mode:pkcs1 -in "$block"
  done
  rm -r "$blocks"
}

scheme=$1
shift
text=$(lines "$@" | LC_ALL=C sort -t = -k 1,1 | sed 's/=//' | tr -d '\n')
case $scheme in
  md5) set -- "$@" "sign=$(printf '%s' "$text" "$(cat $keys/shop.secret)" | md5)" ;;
  rsa) set -- "$@" "sign=$(printf '%s' "$text" | sign_rsa)" ;;
  rsa-envelope)
    plaintext=$(lines "$@" | grep -v '^appKey=' | json)
    set -- "$(lines "$@" | sed -n 's/^appKey=/app_id=/p')" \
      "data=$(printf '%s' "$plaintext" | encrypt_rsa | base64url)" \
      "sign=$(printf '%s' "$plaintext" | md5 | sign_rsa)"
    ;;
esac

answer=$(lines "$@" | json | curl --silent --show-error --max-time 5 --write-out ' %{http_code}' \
  --header 'Content-Type: application/json' --data-binary @- \
  "${URL:-http://127.0.0.1:8080}/nofity/transferToMerchantAuthCheck")
echo "$answer"
[ "$answer" = 'SUCCESS 200' ]

# Asks about a withdrawal, as a co-signer that a header authenticates: sh docs/callbacks/cosigner.sh
# Needs curl.
curl --silent --show-error --max-time 5 --header 'Content-Type: application/json' \
  --header "Authorization: $(cat config/demo/vault.token)" \
  --data '{"type":"sign_start","transfer_id":1001,"request_id":"shell-4","pending_round":false,
    "from":"0x27b1fdb04752bbc536007a920d24acb045561c26","to":"0x52908400098527886E0F7030069857D2E4169EE7",
    "memo":"","amount":"1.5","symbol":"ETH"}' \
  "${URL:-http://127.0.0.1:8080}/cosigner/withdraw"

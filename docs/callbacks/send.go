// Sends a payment confirmation: go run docs/callbacks/send.go SCHEME NAME=VALUE...
// Needs Go 1.18 or newer.
package main

import (
	"bytes"
	"crypto"
	"crypto/md5"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"os"
	"sort"
	"strings"
	"time"
)

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func read(name string) []byte {
	return bytes.TrimSpace(must(os.ReadFile("config/demo/" + name)))
}

func der(name string) []byte {
	block, _ := pem.Decode(read(name))
	return block.Bytes
}

func md5Hex(data []byte) string {
	sum := md5.Sum(data)
	return hex.EncodeToString(sum[:])
}

func signRsa(text string) string {
	key := must(x509.ParsePKCS8PrivateKey(der("platform.private.pem"))).(*rsa.PrivateKey)
	sum := sha256.Sum256([]byte(text))
	return base64.RawURLEncoding.EncodeToString(must(rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, sum[:])))
}

func encryptRsa(plaintext []byte) string {
	key := must(x509.ParsePKIXPublicKey(der("merchant.public.pem"))).(*rsa.PublicKey)
	var result []byte
	for len(plaintext) > 0 {
		size := key.Size() - 11
		if size > len(plaintext) {
			size = len(plaintext)
		}
		result = append(result, must(rsa.EncryptPKCS1v15(rand.Reader, key, plaintext[:size]))...)
		plaintext = plaintext[size:]
	}
	return base64.RawURLEncoding.EncodeToString(result)
}

func signedText(members map[string]string) string {
	var names []string
	for name := range members {
		names = append(names, name)
	}
	sort.Strings(names)
	text := ""
	for _, name := range names {
		text += name + members[name]
	}
	return text
}

func main() {
	members := map[string]string{}
	for _, argument := range os.Args[2:] {
		name, value, _ := strings.Cut(argument, "=")
		members[name] = value
	}
	switch os.Args[1] {
	case "md5":
		members["sign"] = md5Hex(append([]byte(signedText(members)), read("shop.secret")...))
	case "rsa":
		members["sign"] = signRsa(signedText(members))
	case "rsa-envelope":
		appId := members["appKey"]
		delete(members, "appKey")
		plaintext := must(json.Marshal(members))
		sign := signRsa(md5Hex(plaintext))
		members = map[string]string{"app_id": appId, "data": encryptRsa(plaintext), "sign": sign}
	}

	url := os.Getenv("URL")
	if url == "" {
		url = "http://127.0.0.1:8080"
	}
	client := http.Client{Timeout: 5 * time.Second}
	body := bytes.NewReader(must(json.Marshal(members)))
	response := must(client.Post(url+"/nofity/transferToMerchantAuthCheck", "application/json", body))
	answer := fmt.Sprintf("%s %d", must(io.ReadAll(response.Body)), response.StatusCode)
	fmt.Println(answer)
	if answer != "SUCCESS 200" {
		os.Exit(1)
	}
}

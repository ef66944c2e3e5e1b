#!/bin/sh
# Makes an authority, a certificate of it for the proxy and one for a caller, in the folder `certificates`. Only for a
# try: in production your authority makes them.
set -eu
mkdir -p certificates
cd certificates
umask 077
new_key="-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes"

openssl req -x509 $new_key -keyout ca.key -out ca.crt -days 30 -subj "/CN=example authority" 2>/dev/null
issue() {
  openssl req -new $new_key -keyout "$1.key" -out "$1.csr" -subj "/CN=$1" 2>/dev/null
  echo "subjectAltName=$2" > "$1.ext"
  openssl x509 -req -in "$1.csr" -CA ca.crt -CAkey ca.key -CAcreateserial -days 30 -extfile "$1.ext" \
    -out "$1.crt" 2>/dev/null
  rm "$1.csr" "$1.ext"
}
issue server "DNS:localhost,IP:127.0.0.1"
issue client "DNS:client.example.com"

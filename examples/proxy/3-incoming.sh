#!/bin/sh
# Callers need a token of your identity provider, made for this proxy. The proxy checks it and does not send it on.
exec sallyport proxy notes --target-uri "${TARGET:-http://127.0.0.1:9000/mcp}" \
  --oidc-issuer "${ISSUER:-https://idp.example.com/}" --oidc-audience "${AUDIENCE:-mcp}" "$@"

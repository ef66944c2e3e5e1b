#!/bin/sh
# Callers need a token of your identity provider, made for this proxy. It is checked here and not sent on.
exec sallyport proxy notes --target-uri "${TARGET:-http://127.0.0.1:9000/mcp}" \
  --oidc-issuer "${ISSUER:-https://idp.example.com/}" --oidc-audience "${AUDIENCE:-mcp}" "$@"

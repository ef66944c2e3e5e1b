#!/bin/sh
# Both: the proxy checks the caller's token, and sends the target another credential instead.
exec sallyport proxy notes --target-uri "${TARGET:-https://mcp.example.com/mcp}" \
  --oidc-issuer "${ISSUER:-https://idp.example.com/}" --oidc-audience "${AUDIENCE:-mcp}" \
  --remote-auth-bearer-token-file "${TOKEN_FILE:-./token}" "$@"

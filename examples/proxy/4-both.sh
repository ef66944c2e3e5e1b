#!/bin/sh
# Both: a caller's token is checked, and the target gets another credential in its place.
exec sallyport proxy notes --target-uri "${TARGET:-https://mcp.example.com/mcp}" \
  --oidc-issuer "${ISSUER:-https://idp.example.com/}" --oidc-audience "${AUDIENCE:-mcp}" \
  --remote-auth-bearer-token-file "${TOKEN_FILE:-./token}" "$@"

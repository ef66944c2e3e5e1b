#!/bin/sh
# The proxy of the third example, reachable from outside by a tunnel client. Its public URL is in the ready line.
exec sallyport proxy tunnel notes --target-uri "${TARGET:-http://127.0.0.1:9000/mcp}" \
  --oidc-issuer "${ISSUER:-https://idp.example.com/}" --oidc-audience "${AUDIENCE:-mcp}" \
  --tunnel-provider command --tunnel-command "${TUNNEL:-cloudflared tunnel --url {url\}}" "$@"

#!/bin/sh
# The proxy sends the target a credential that callers never see. It reads a changed file again.
exec sallyport proxy notes --target-uri "${TARGET:-https://mcp.example.com/mcp}" \
  --remote-auth-bearer-token-file "${TOKEN_FILE:-./token}" "$@"

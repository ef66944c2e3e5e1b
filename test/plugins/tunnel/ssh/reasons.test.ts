import assert from 'node:assert/strict'
import { test } from 'node:test'
import { reasonIn } from '#plugins/tunnel/ssh/reasons.js'

test('each line in which ssh says why it fails has its own error', () => {
  // Lines of OpenSSH 9.2; the last three are about the network between this machine and the server.
  const lines: readonly (readonly [string, string, RegExp])[] = [
    ['@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @', 'TUNNEL_HOST_KEY', /another host key/],
    ['@       WARNING: REVOKED HOST KEY DETECTED!               @', 'TUNNEL_HOST_KEY', /revoked/],
    ['Host key verification failed.', 'TUNNEL_HOST_KEY', /jump host/],
    ['Connection to 127.0.0.1 port 33055 timed out', 'TUNNEL_UNREACHABLE', /33055 timed out: check/],
    ['kex_exchange_identification: Connection closed by remote host', 'TUNNEL_UNREACHABLE', /: check/],
  ]
  for (const [line, code, message] of lines) {
    const reason = reasonIn(line)
    assert.equal(reason?.code, code, line)
    assert.match(reason.message, message)
  }
  assert.equal(reasonIn('Connection timed out during banner exchange'), undefined)
})

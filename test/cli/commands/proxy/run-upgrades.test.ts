import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'
import { AcceptedSockets } from '#kit/accepted-sockets.js'
import { eventually } from '#kit/captured-log.js'
import { issuing } from '#kit/issuer.js'
import { listening } from '#kit/listening.js'
import { program } from '#kit/program.js'
import { dial, sendRaw } from '#kit/raw.js'

const needsProc = {
  skip: process.platform === 'linux' ? false : 'open files are counted in /proc',
  timeout: 60_000,
}

test('a thousand upgrades of strangers leave room for a caller with a token (T16)', needsProc, async (t) => {
  const issuer = await issuing(t)
  const target = await listening(t, (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write('data: first\n\n')
  })
  const behind = new AcceptedSockets(t)
  const proxy = program(t, [
    ...['proxy', 'name', '--target-uri', target, '--max-connections', '200'],
    ...['--oidc-issuer', issuer.url, '--oidc-audience', issuer.audience, '--oidc-allow-private-ip'],
  ])
  const main = await proxy.ready()
  const files = (): number => readdirSync('/proc/self/fd').length
  const token = await issuer.jwt()
  const upgrade = `Host: ${new URL(main).host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n`
  const listen = async (): Promise<void> => {
    const socket = dial(main)
    socket.write(`GET /mcp HTTP/1.1\r\n${upgrade}Authorization: Bearer ${token}\r\n\r\nx`)
    let heard = ''
    socket.on('data', (chunk) => {
      heard += String(chunk)
    })
    await eventually(() => heard.includes('data: first'))
    socket.destroy()
  }
  // What the first caller makes it open, such as connections to the issuer, stays.
  await listen()
  await eventually(() => behind.at(target).open === 0)
  const before = files()

  for (let round = 0; round < 10; round++) {
    const strangers = Array.from({ length: 100 }, () =>
      sendRaw(main, `GET /mcp HTTP/1.1\r\n${upgrade}\r\nx`).catch(() => 'HTTP/1.1 503 and reset'),
    )
    for (const answer of await Promise.all(strangers)) assert.match(answer, /^HTTP\/1.1 (?:401|503) /)
  }
  for (let count = 0; count < 20; count++) await listen()
  await eventually(() => behind.at(target).open === 0)
  await eventually(() => files() <= before)
})

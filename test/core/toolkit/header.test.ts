import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ConfigError } from 'sallyport'
import { booted } from '#kit/booted.js'

const fixed = (name: string, value: string) => ({
  use: 'headers/static',
  with: { headers: [{ name, value }] },
})

test('headers that frame a message or belong to a connection are refused in any letter case (T13)', async (t) => {
  const names = [
    'Host',
    'content-LENGTH',
    'Transfer-Encoding',
    'connection',
    'Keep-Alive',
    'TE',
    'Trailer',
    'Upgrade',
  ]
  names.push(
    'Expect',
    'Forwarded',
    'X-Forwarded-For',
    'x-FORWARDED-anything',
    'Proxy-Authorization',
    'proxy-x',
  )
  names.push('', ' X', 'X ', 'X:', 'X\r\nY', 'X\0', 'Ä', 'a(b)')
  for (const name of names) await assert.rejects(booted(t, [fixed(name, 'x')]), ConfigError, name)
})

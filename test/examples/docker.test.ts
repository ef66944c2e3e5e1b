import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { validate } from 'dockerfile-utils'
import { program } from '../kit/program.js'

const root = join(import.meta.dirname, '../..')
const dockerfile = readFileSync(join(root, 'examples/docker/Dockerfile'), 'utf8')
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const words = (instruction: string): string[][] =>
  [...dockerfile.matchAll(new RegExp(`^${instruction} (.+)$`, 'gm'))].map(([, rest = '']) => rest.split(' '))

test('a linter has nothing to say about the Dockerfile', () => {
  assert.deepEqual(validate(dockerfile), [])
  assert.notDeepEqual(validate(`${dockerfile}\nEXPOSE many`), [])
})

test('it does not run as root, and starts the program of the package', () => {
  assert.match(words('USER').at(-1)?.[0] ?? '', /^[1-9]\d*:[1-9]\d*$/)
  const [, entry] = JSON.parse(words('ENTRYPOINT')[0]?.join(' ') ?? '[]')
  assert.equal(entry, join('/app', manifest.bin.sallyport))
})

test('what it copies is there, and has all that is compiled', () => {
  const copied = words('COPY')
    .filter(([first = '']) => !first.startsWith('--from'))
    .flatMap((paths) => paths.slice(0, -1))
  for (const path of copied) assert.ok(existsSync(join(root, path)), path)
  const { include }: { include: string[] } = JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8'))
  assert.deepEqual(
    include.filter((path) => !copied.includes(path)),
    [],
  )
})

test('the image serves what lies beside it', async (t) => {
  const [, , flag = '', file = ''] = ['node', ...JSON.parse(words('CMD')[0]?.join(' ') ?? '[]')]
  assert.equal(file, '/etc/sallyport/sallyport.yaml')
  const addresses = ['--address', '127.0.0.1:0', '--internal-address', '127.0.0.1:0']
  const serving = program(t, [
    'registry',
    flag,
    join(root, 'examples/docker', file.replace('/etc/sallyport/', '')),
    ...addresses,
  ])

  const main = await serving.ready()
  const { servers } = JSON.parse(await (await fetch(`${main}/registry/default/v0.1/servers`)).text())
  assert.equal(servers[0].server.name, 'com.example/notes')
})

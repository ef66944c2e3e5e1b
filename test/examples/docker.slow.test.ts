import assert from 'node:assert/strict'
import { execFile, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { validate } from 'dockerfile-utils'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { bin, startedProgram } from '#kit/started-program.js'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../..')
const dockerfile = readFileSync(join(root, 'examples/docker/Dockerfile'), 'utf8')
const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const words = (instruction: string): string[][] =>
  [...dockerfile.matchAll(new RegExp(`^${instruction} (.+)$`, 'gm'))].map(([, rest = '']) => rest.split(' '))

test('the linter accepts the Dockerfile', () => {
  assert.deepEqual(validate(dockerfile), [])
  assert.notDeepEqual(validate(`${dockerfile}\nEXPOSE many`), [])
  // A `syntax` line would cost one more download, from a host that a closed network may not reach.
  assert.doesNotMatch(dockerfile, /^#\s*syntax=/m)
})

test('the image does not run as root, and starts the program of the package', () => {
  assert.match(words('USER').at(-1)?.[0] ?? '', /^[1-9]\d*:[1-9]\d*$/)
  const [, entry] = JSON.parse(words('ENTRYPOINT')[0]?.join(' ') ?? '[]')
  assert.equal(entry, join('/app', manifest.bin.sallyport))
})

test('the Dockerfile copies every source of the build, and everything that `plugin new` copies', () => {
  const copied = words('COPY')
    .filter(([first = '']) => !first.startsWith('--from'))
    .flatMap((paths) => paths.slice(0, -1))
  for (const path of copied) assert.ok(existsSync(join(root, path)), path)
  const { include }: { include: string[] } = JSON.parse(readFileSync(join(root, 'tsconfig.json'), 'utf8'))
  assert.deepEqual(
    [...include, 'examples/plugins'].filter((path) => !copied.includes(path)),
    [],
  )
})

test('the packages of the image include database drivers and trace exporters, at the versions of the lock file', async (t) => {
  const cwd = folder(t)
  for (const file of words('COPY')[0]?.slice(0, -1) ?? []) cpSync(join(root, file), join(cwd, file))
  // Hard links are enough: npm deletes files and changes none.
  await run('sh', ['-c', 'cp -al "$0" . || cp -a "$0" .', join(root, 'node_modules')], { cwd })
  const steps = words('RUN').flatMap((step) => step.join(' ').split(' && '))
  const left = steps.filter((step) => /^npm (?!ci|run)/.test(step))
  assert.ok(left.length > 0)
  const env = { ...process.env, npm_config_prefer_offline: 'true' }
  for (const step of left) await run('sh', ['-c', step], { cwd, env })

  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  const versionOf = (name: string) =>
    JSON.parse(readFileSync(join(cwd, 'node_modules', name, 'package.json'), 'utf8')).version
  const only = ['@modelcontextprotocol/sdk', '@napi-rs/keyring']
  const peers = Object.keys(manifest.peerDependencies).filter((name) => !only.includes(name))
  for (const name of [...peers, ...Object.keys(manifest.dependencies)])
    assert.equal(versionOf(name), packages[`node_modules/${name}`].version)
  await run(
    process.execPath,
    ['-e', `import('pg'); import('ioredis'); import('@opentelemetry/exporter-trace-otlp-http')`],
    { cwd },
  )
  assert.ok(!existsSync(join(cwd, 'node_modules/typescript')))
  assert.deepEqual(JSON.parse(readFileSync(join(cwd, 'package.json'), 'utf8')), manifest)
})

test('the image serves the files beside it', async (t) => {
  const [, , flag = '', file = ''] = ['node', ...JSON.parse(words('CMD')[0]?.join(' ') ?? '[]')]
  assert.equal(file, '/etc/sallyport/sallyport.yaml')
  const addresses = ['--address', '127.0.0.1:0', '--internal-address', '127.0.0.1:0']
  const serving = startedProgram(t, [
    'registry',
    flag,
    join(root, 'examples/docker', file.replace('/etc/sallyport/', '')),
    ...addresses,
  ])

  const main = await serving.ready()
  const [, internal] = /metrics on (http:\S+)\)/.exec(serving.output.stdout) ?? []
  const { commit } = JSON.parse(await (await fetch(`${internal}/version`)).text())
  const built = existsSync(join(root, '.git'))
    ? await run('git', ['rev-parse', 'HEAD'], { cwd: root })
    : undefined
  assert.equal(commit.replace('-dirty', ''), built?.stdout.trim() ?? 'unknown')
  const { servers } = JSON.parse(await (await fetch(`${main}/registry/default/v0.1/servers`)).text())
  assert.equal(servers[0].server.name, 'com.example/notes')
})

test('the health check of the image passes for every documented command, and fails for a dead one', async (t) => {
  const [variable = '', address = ''] = words('ENV')[0]?.join(' ').split('=') ?? []
  const check = words('HEALTHCHECK CMD')[0]?.join(' ') ?? ''
  const exposed = words('EXPOSE')[0] ?? []
  assert.ok(exposed.includes(address.replace('0.0.0.0:', '')))
  const healthy = async (port: string): Promise<boolean> =>
    run('sh', ['-c', check], { env: { PATH: process.env['PATH'], [variable]: `0.0.0.0:${port}` } }).then(
      () => true,
      () => false,
    )
  const readme = readFileSync(join(root, 'examples/docker/README.md'), 'utf8')
  const documented = [dockerfile, readme].map(
    (text) =>
      /docker run .* sallyport:\S+ (proxy .*)$/m.exec(text)?.[1]?.replace('--port 8080', '--port 0') ?? '',
  )
  const commands = [
    ['registry', '--config', join(root, 'examples/docker/sallyport.yaml'), '--address', '127.0.0.1:0'],
    ...documented.map((command) => command.split(' ')),
  ]
  for (const argv of commands) {
    const serving = startedProgram(t, argv, { environment: { [variable]: '0.0.0.0:0' } })
    await serving.ready()
    const [, port = ''] = /health and metrics on http:\S+:(\d+)\)/.exec(serving.output.stdout) ?? []
    assert.equal(await healthy(port), true, argv.join(' '))
    serving.stop()
    await serving.ended()
    assert.equal(await healthy(port), false)
  }
})

// A mount that only this process sees.
const readOnly = ['-m', 'sh', '-c', 'mount -o remount,bind,ro / && cd / && exec setpriv "$@"', 'sh']
const skip =
  spawnSync('unshare', [...readOnly, '--version']).status !== 0 && 'no mount of its own can be made'

test('the user of the image needs neither capabilities nor a writable root', { skip }, async (t) => {
  const user = words('USER')[0]?.[0]?.split(':')[0] ?? ''
  const rights = [
    '--reuid',
    user,
    '--regid',
    user,
    '--clear-groups',
    '--no-new-privs',
    '--bounding-set',
    '-all',
  ]
  const file = realpathSync(join(root, 'examples/docker/sallyport.yaml'))
  const addresses = ['--address', '127.0.0.1:0', '--internal-address', '127.0.0.1:0']
  const argv = [
    ...readOnly,
    ...rights,
    process.execPath,
    realpathSync(bin),
    'registry',
    '--config',
    file,
    ...addresses,
  ]
  const { PATH = '' } = process.env
  const child = spawn('unshare', argv, { env: { PATH, HOME: '/' } })
  const ended = once(child, 'exit')
  t.after(() => child.kill('SIGKILL'))
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      output += String(chunk)
    })
  }
  const internal = await eventually(() => /metrics on (http:\S+)\)/.exec(output)?.[1], 30).catch(() =>
    assert.fail(output),
  )

  assert.equal((await fetch(`${internal}/readiness`)).status, 200)
  assert.match(readFileSync(`/proc/${child.pid}/status`, 'utf8'), new RegExp(`^Uid:\\s+${user}\\s`, 'm'))
  assert.throws(() => writeFileSync(`/proc/${child.pid}/root/written`, ''), { code: 'EROFS' })
  child.kill('SIGTERM')
  assert.deepEqual(await ended, [0, null], output)
  assert.doesNotMatch(output, /"level":"error"/)
})

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { get, type IncomingMessage } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import { folder } from '#kit/folder.js'
import { program } from '#kit/program.js'
import { startedProgram } from '#kit/started-program.js'

const listen = "  - { use: listen/http, with: { address: '127.0.0.1:0' } }\n"

const says = (text: string): string => `
  import { definePlugin } from 'sallyport'
  export default definePlugin({
    name: 'says',
    api: 1,
    setup(gateway) {
      gateway.http.get('/', { config: { public: true } }, () => '${text}')
      gateway.http.get('/events', { config: { public: true } }, (request, reply) => {
        reply.hijack()
        reply.raw.setHeader('content-type', 'text/event-stream')
        reply.raw.write('data: 1\\n\\n')
      })
    },
  })`

test('a list is booted with one ready line on stdout, and a signal stops it with 0', async (t) => {
  const home = folder(t, {
    'gateway.yaml': `plugins:\n${listen}  - use: ./says.mjs\n`,
    'says.mjs': says('hello'),
  })
  for (const signal of ['SIGTERM', 'SIGINT'] as const) {
    const gateway = program(t, ['run', '--config', join(home, 'gateway.yaml')])
    const url = await gateway.ready()
    assert.equal(await (await fetch(url)).text(), 'hello')

    gateway.stop(signal)
    assert.equal(await gateway.ended(), 0)
    assert.equal(gateway.output.stdout, `sallyport run listening on ${url}\n`)
    for (const line of gateway.output.stderr.trim().split('\n'))
      assert.equal(typeof JSON.parse(line).msg, 'string')
  }
})

test('with an open event stream a signal still ends the gateway at once', async (t) => {
  const home = folder(t, {
    'gateway.yaml': `plugins:\n${listen}  - use: ./says.mjs\n`,
    'says.mjs': says('hello'),
  })
  const gateway = program(t, ['run', '--config', join(home, 'gateway.yaml')])
  const [stream] = (await once(get(`${await gateway.ready()}/events`), 'response')) as [IncomingMessage]
  stream.on('error', () => {})
  await once(stream, 'data')

  const asked = Date.now()
  gateway.stop()
  assert.equal(await gateway.ended(), 0)
  assert.ok(Date.now() - asked < 8_000)
})

test('a second signal ends the gateway without waiting', async (t) => {
  const home = folder(t, {
    'gateway.yaml': `plugins:\n${listen}  - use: ./slow.mjs\n`,
    'slow.mjs': `export default { name: 'slow', api: 1, setup(gateway) { gateway.onStop(() => new Promise(() => {})) } }`,
  })
  const gateway = startedProgram(t, ['run', '--config', join(home, 'gateway.yaml')])
  await gateway.ready()

  gateway.stop()
  await gateway.until(/asked to stop/)
  gateway.stop()
  assert.equal(await gateway.ended(), 1)
})

test('a signal during any step of the boot ends it with 0 and prints nothing on stdout', async (t) => {
  const hangs = (where: string): string => `
    const hang = (gateway) => { gateway.log.info('in ${where}'); return new Promise(() => {}) }
    export default {
      name: 'hangs',
      api: 1,
      setup(gateway) {
        ${where === 'setup' ? 'return hang(gateway)' : `gateway.${where}(() => hang(gateway))`}
      },
    }`
  for (const where of ['setup', 'onStart', 'onReady']) {
    const home = folder(t, {
      'gateway.yaml': `plugins:\n${listen}  - use: ./hangs.mjs\n`,
      'hangs.mjs': hangs(where),
    })
    const gateway = program(t, ['run', '--config', join(home, 'gateway.yaml')])
    await gateway.until(new RegExp(`in ${where}`))

    gateway.stop()
    assert.equal(await gateway.ended(), 0, where)
    assert.equal(gateway.output.stdout, '')
  }
})

test('SIGHUP reads the file again, and a file that is wrong changes nothing', async (t) => {
  const home = folder(t, {
    'gateway.yaml': `plugins:\n${listen}  - use: ./old.mjs\n`,
    'old.mjs': says('old'),
    'new.mjs': says('new'),
  })
  const file = join(home, 'gateway.yaml')
  const gateway = program(t, ['run', '--config', file])
  const url = await gateway.ready()

  writeFileSync(file, `plugins:\n${listen}  - usse: ./new.mjs\n  - use: ./absent.mjs\n`)
  gateway.reload()
  const reported = await gateway.until(/\{.*is not in force.*\}/)
  assert.match(reported, /gateway\.yaml:3:5 plugins\[1\]\.usse: unknown key/)
  assert.match(reported, /gateway\.yaml:4:10 plugins\[2\]\.use: /)
  assert.equal(await (await fetch(url)).text(), 'old')

  writeFileSync(file, `plugins:\n${listen}  - use: ./new.mjs\n`)
  gateway.reload()
  await gateway.until(/is in force"/)
  assert.equal(await (await fetch(url)).text(), 'new')
})

test('eight mistakes are eight lines, in the order of the file, and the exit code is 2', async (t) => {
  const home = folder(t, {
    'gateway.yaml': `plugins:
  - use: listen/htp
    with: { address: '127.0.0.1:0' }
  - use: internal/server
    wth: { address: '127.0.0.1:0' }
  - use: listen/http
    with: { address: 7, maxConections: 3 }
  - use: ./nope.js
  - use: guard/origin
    with: { allowed: '\${env:NOPE}' }
  - use: auth/anonymous
    required: maybe
  - scope: github
    plugins: []
`,
  })
  const gateway = program(t, ['run', '--config', 'gateway.yaml'], { cwd: home })

  assert.equal(await gateway.ended(), 2)
  assert.equal(gateway.output.stdout, '')
  const lines = gateway.output.stderr.trim().split('\n')
  assert.deepEqual(
    lines.map((line) => line.split(' ', 2).join(' ')),
    [
      'gateway.yaml:2:10 plugins[0].use:',
      'gateway.yaml:5:5 plugins[1].wth:',
      'gateway.yaml:7:22 plugins[2].with.address',
      'gateway.yaml:7:40 plugins[2].with.maxConections',
      'gateway.yaml:8:10 plugins[3].use:',
      'gateway.yaml:10:22 plugins[4].with.allowed:',
      'gateway.yaml:12:15 plugins[5].required:',
      'gateway.yaml:13:12 plugins[6].scope:',
    ],
  )
  assert.equal(lines.filter((line) => line.includes('did you mean')).length, 3)
})

test('the printed list can be run again, and no secret is in it', async (t) => {
  const home = folder(t, {
    'gateway.yaml': `plugins:
${listen}
  - use: ./secretive.mjs
    with: { key: in-the-file, note: 'from \${env:NOTE} here', plain: shown }
  - { scope: /inner, plugins: [{ use: auth/anonymous }] }
`,
    'secretive.mjs': `
      import { z } from '${import.meta.resolve('zod')}'
      export default {
        name: 'secretive',
        api: 1,
        options: z.strictObject({ key: z.string().meta({ writeOnly: true }), note: z.string(), plain: z.string() }),
        setup() {},
      }`,
  })
  const argv = ['run', '--config', join(home, 'gateway.yaml'), '--print-plugins']
  const printing = program(t, argv, { environment: { NOTE: 'in-the-environment' } })
  assert.equal(await printing.ended(), 0)

  const { stdout } = printing.output
  assert.match(stdout, /key: "\*\*\*"\n\s+note: from \*\*\* here\n\s+plain: shown/)
  assert.ok(!stdout.includes('in-the-file') && !stdout.includes('in-the-environment'))
  writeFileSync(join(home, 'printed.yaml'), stdout)
  const again = program(t, ['run', '--config', join(home, 'printed.yaml'), '--print-plugins'])
  assert.equal(await again.ended(), 0)
  assert.equal(again.output.stdout, stdout)
})

test('no query of a URL is printed: it may hold a key', async (t) => {
  const oidc = {
    name: 'corp',
    issuerUrl: 'https://idp.example',
    audience: 'x',
    clientId: 'x',
    clientSecret: 'y',
  }
  const plugins = [
    { use: 'discovery/issuer' },
    { use: 'auth/oidc', with: { ...oidc, introspectionUrl: 'https://idp.example/introspect?key=canary' } },
    { use: 'audit/http', with: { url: 'https://collector.example/in?key=canary' } },
  ]
  const home = folder(t, { 'list.json': JSON.stringify(plugins) })
  const printing = program(t, ['run', '--config', join(home, 'list.json'), '--print-plugins'])

  assert.equal(await printing.ended(), 0, printing.output.stderr)
  assert.match(printing.output.stdout, /introspectionUrl: https:\/\/idp\.example\/introspect\?\*\*\*\n/)
  assert.match(printing.output.stdout, / url: https:\/\/collector\.example\/in\?\*\*\*\n/)
  assert.doesNotMatch(printing.output.stdout, /canary/)
})

test('a list that speaks the protocol on stdout prints nothing else there', async (t) => {
  const home = folder(t, {
    'gateway.yaml': `plugins:
${listen}  - { use: listen/stdio, with: { target: 'http://127.0.0.1:9/mcp' } }
  - use: auth/anonymous
  - { use: forward/http, with: { target: 'http://127.0.0.1:9/mcp' } }
`,
  })
  const gateway = startedProgram(t, ['run', '--config', join(home, 'gateway.yaml')])

  assert.equal(await gateway.ended(), 0)
  assert.equal(gateway.output.stdout, '')
})

test("a third party's plugin that keeps stdout for a protocol has stdout alone, in a scope too, and in one process", async (t) => {
  const home = folder(t, {
    'gateway.yaml': `plugins:\n${listen}  - { scope: /a, plugins: [{ use: ./speaks.mjs }] }\n`,
    'speaks.mjs': `
      import { definePlugin } from 'sallyport'
      export default definePlugin({
        name: 'speaks',
        api: 1,
        stdout: 'protocol',
        setup(gateway) {
          gateway.onReady(() => setTimeout(() => gateway.log.info('all is printed'), 0))
        },
      })`,
  })
  const argv = ['run', '--config', join(home, 'gateway.yaml')]
  const gateway = program(t, argv)
  await gateway.until(/all is printed/)
  gateway.stop()
  assert.equal(await gateway.ended(), 0)
  assert.equal(gateway.output.stdout, '')

  const several = startedProgram(t, [...argv, '--workers', '2'])
  assert.equal(await several.ended(), 2)
  assert.match(several.output.stderr, /--workers: .*"speaks"/)
})

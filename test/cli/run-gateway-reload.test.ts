import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { renameSync, rmSync, writeFileSync } from 'node:fs'
import { open, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { listening } from '#kit/listening.js'
import { listen } from '#kit/plugin.js'
import { program } from '#kit/program.js'

const skip = process.platform === 'win32' && 'no mkfifo'

test('the later of two reloads is in force, also when a slow file delays the earlier one', {
  skip,
}, async (t) => {
  const [first, held, last] = await Promise.all(
    ['first', 'held', 'last'].map((name) => listening(t, (_request, response) => response.end(name))),
  )
  const home = folder(t, {})
  const file = join(home, 'run.json')
  const write = (target: string | undefined): void => {
    const plugins = [listen, { use: 'auth/anonymous' }, { use: 'forward/http', with: { target } }]
    writeFileSync(`${file}.new`, JSON.stringify({ plugins }))
    renameSync(`${file}.new`, file)
  }
  write(first)
  const gateway = program(t, ['run', '--config', file])
  const main = await gateway.ready()
  const answer = async (): Promise<string> => (await fetch(main)).text()
  assert.equal(await answer(), 'first')

  const pipe = join(home, 'pipe')
  spawnSync('mkfifo', [pipe])
  write(`\${file:pipe}`)
  gateway.reload()
  // Open as soon as the gateway reads it.
  const slow = await open(pipe, 'w')
  write(last)
  gateway.reload()
  // What comes after a signal is answered after it.
  for (let each = 0; each < 3; each++) await answer()
  await slow.write(held ?? '')
  await slow.close()

  await eventually(
    () =>
      gateway.output.stderr.match(/is in force|a later reload replaces it/g)?.length === 2 ? true : undefined,
    20,
  )
  assert.equal(await answer(), 'last')
})

test('a gateway that gets SIGHUP while it still reads its file starts', { skip }, async (t) => {
  const target = await listening(t, (_request, response) => response.end('here'))
  const home = folder(t, { 'proxy.yaml': `targetUri: \${file:pipe}\nport: 0\n` })
  const pipe = join(home, 'pipe')
  spawnSync('mkfifo', [pipe])
  const gateway = program(t, ['proxy', 'notes', '--config', join(home, 'proxy.yaml')])
  const writer = await open(pipe, 'w')
  gateway.reload()
  await writer.write(target)
  await writer.close()

  assert.equal(await (await fetch(await gateway.ready())).text(), 'here')
})

test('a gateway that gets SIGHUP while its plugins start logs that it does not reload, and starts', {
  skip,
}, async (t) => {
  const target = await listening(t, (_request, response) => response.end('here'))
  const slow = `
    import { readFile } from 'node:fs/promises'
    export default {
      name: 'slow',
      api: 1,
      setup: (gateway) => gateway.onStart(() => readFile(new URL('./pipe', import.meta.url))),
    }`
  const plugins = [listen, { use: 'auth/anonymous' }, { use: './slow.mjs' }]
  const list = JSON.stringify({ plugins: [...plugins, { use: 'forward/http', with: { target } }] })
  const home = folder(t, { 'run.json': list, 'slow.mjs': slow })
  const pipe = join(home, 'pipe')
  spawnSync('mkfifo', [pipe])
  const gateway = program(t, ['run', '--config', join(home, 'run.json')])
  // Open as soon as the plugin reads it.
  const writer = await open(pipe, 'w')
  gateway.reload()
  await gateway.until(/still starting: the configuration is not read again/)
  await writer.close()

  assert.equal(await (await fetch(await gateway.ready())).text(), 'here')
})

test('a configuration from a pipe is in force, and a reload logs that it cannot be read again', {
  skip,
}, async (t) => {
  const target = await listening(t, (_request, response) => response.end('here'))
  const config = join(folder(t, {}), 'config')
  spawnSync('mkfifo', [config])
  const gateway = program(t, ['proxy', 'notes', '--config', config])
  const text = `targetUri: ${target}\nport: 0\n`
  await writeFile(config, text)
  const main = await gateway.ready()

  gateway.reload()
  // One line for each problem, as at a start.
  await gateway.until(/"problems":\["[^"]*: it is a pipe, and cannot be read again/)
  assert.equal(await (await fetch(main)).text(), 'here')

  rmSync(config)
  writeFileSync(config, text)
  gateway.reload()
  await gateway.until(/is in force/)
  gateway.stop()
  assert.equal(await gateway.ended(), 0)
})

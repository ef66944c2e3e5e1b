import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { eventually } from '#kit/captured-log.js'
import { folder } from '#kit/folder.js'
import { Person } from '#kit/person.js'
import { program } from '#kit/program.js'
import { noTerminal, onTerminal, spawned } from '#kit/spawned.js'
import { bin } from '#kit/started-program.js'
import { type Pasted, paste, stopsOf, WHOLE_TOUR } from '#kit/tour.js'

async function toured(t: TestContext, argv: readonly string[] = ['--port', '0']) {
  const temporary = folder(t)
  const started = program(t, ['quickstart', ...argv], { environment: { TMPDIR: temporary } })
  await eventually(() => WHOLE_TOUR.test(started.output.stdout))
  return { started, temporary, stops: stopsOf(started.output.stdout) }
}

test('every command of the tour can be pasted and shows what its title says, and Ctrl-C leaves nothing behind', async (t) => {
  const { started, temporary, stops } = await toured(t)
  assert.equal(stops.length, 11)
  const elsewhere = folder(t)
  const shown: Pasted[] = []
  // The last one runs until it is ended.
  for (const [, command = 'true'] of stops.slice(0, -1)) shown.push(await paste(command, elsewhere))
  const [challenged, metadata, listing, refused, explained, called, , , metrics, list] = shown
  const pasted = (one: Pasted | undefined): string => {
    assert.equal(one?.code, 0)
    return one?.stdout ?? ''
  }

  const [main = ''] = /http:\/\/127\.0\.0\.1:\d+/.exec(started.output.stdout) ?? []
  assert.match(pasted(challenged), /^HTTP\/1\.1 401 /)
  assert.ok(
    pasted(challenged).includes(`resource_metadata="${main}/.well-known/oauth-protected-resource/catalogue"`),
  )
  assert.equal(JSON.parse(pasted(metadata)).resource, `${main}/catalogue`)
  assert.equal(JSON.parse(pasted(listing)).servers.length, 1)
  assert.match(pasted(refused), /^HTTP\/1\.1 401 [\s\S]*error="invalid_token"/)
  assert.match(
    pasted(explained),
    /\/catalogue:\n.*refuses it \(claim:aud\)[\s\S]*the token is refused\n\/sample:\n.*accepts it/,
  )
  const [{ text }] = JSON.parse(pasted(called)).result.content
  assert.match(text, /^You are newcomer\. .* Bearer of-the-gateway-/)
  assert.match(pasted(metrics), /sallyport_http_requests_total\{.*status="401".*\} \d/)
  assert.match(pasted(list), /^plugins:\n[\s\S]*scope: \/sample/)
  const [, page] = /open (http\S+)/.exec(stops[7]?.[0] ?? '') ?? []
  const answer = await fetch(page ?? '')
  assert.equal(answer.status, 200)
  assert.match(await answer.text(), /href="\/catalogue\/registry\/public"/)

  const person = new Person()
  const back = await person.signIn(`${main}/catalogue/registry/default`)
  assert.deepEqual([back.url, back.status], [`${main}/catalogue/registry/default`, 200])
  assert.match(back.body, /action="\/catalogue\/sign-out"[\s\S]*alice/)

  const [, target = ''] = /point it at (http\S+)\. /.exec(stops[6]?.[0] ?? '') ?? []
  const challenge = (await fetch(target, { method: 'POST' })).headers.get('www-authenticate') ?? ''
  const [, place = ''] = /resource_metadata="([^"]+)"/.exec(challenge) ?? []
  assert.equal(JSON.parse(await (await fetch(place)).text()).resource, target)

  started.stop('SIGINT')
  assert.equal(await started.ended(), 0)
  assert.deepEqual(
    readdirSync(temporary).filter((name) => name.startsWith('sallyport-quickstart-')),
    [],
  )
  await assert.rejects(fetch(main))
})

test('npm start and the explain command of the tour run in a checkout without a build', async (t) => {
  const { output } = spawned(
    t,
    ['npm', 'start', '--', '--port', '0'],
    {
      cwd: join(import.meta.dirname, '../../../..'),
      env: { PATH: process.env['PATH'] ?? '', HOME: folder(t) },
      stdio: ['ignore', 'pipe', 'ignore'],
      detached: true,
    },
    ({ pid, exitCode }) => pid !== undefined && exitCode === null && process.kill(-pid, 'SIGTERM'),
  )
  await eventually(() => WHOLE_TOUR.test(output.stdout), 60)
  const { stdout } = await paste(stopsOf(output.stdout)[4]?.[1] ?? '', folder(t))
  assert.match(stdout, /accepts it/)
})

test('a token is accepted at its own resource and refused at the other, before and after SIGHUP', async (t) => {
  const { started, stops } = await toured(t)
  const commandOf = (index: number): string => stops[index]?.[1] ?? ''
  const [, main = ''] = /listening on (\S+)/.exec(started.output.stdout) ?? []
  const [forRegistry, forSample] = [commandOf(2), commandOf(5)].map(
    (line) => /Bearer \S+(?=')/.exec(line)?.[0] ?? '',
  )
  const statusOf = async (path: string, authorization = ''): Promise<number> =>
    (await fetch(main + path, { method: 'GET', headers: { authorization } })).status
  const [registry, sample] = ['/catalogue/registry/default/v0.1/servers', '/sample/mcp']
  const seen = async (): Promise<void> => {
    // The registry answers 503 until it has read its sources.
    await eventually(async () => (await statusOf(registry, forRegistry)) !== 503)
    assert.equal(await statusOf(registry, forRegistry), 200)
    assert.equal(await statusOf(sample, forRegistry), 401)
    assert.equal(await statusOf(registry, forSample), 401)
    // The server speaks no GET; the answer is its own.
    assert.equal(await statusOf(sample, forSample), 406)
    assert.match((await paste(commandOf(5), folder(t))).stdout, /You are newcomer/)
  }
  await seen()

  started.reload()
  const reported = await started.until(/was read again and is.* in force/)
  assert.match(reported, /and is in force/)
  await seen()
  assert.equal((await fetch(`${main}/catalogue/`)).status, 200)
  started.stop()
  assert.equal(await started.ended(), 0)
})

test('the last command of the tour runs a second gateway with the same list, which answers like the first', async (t) => {
  const { started, stops } = await toured(t)
  const [, command = ''] = stops[10] ?? []
  const second = spawned(
    t,
    ['sh', '-c', command],
    {
      cwd: folder(t),
      env: { PATH: process.env['PATH'] ?? '', HOME: folder(t) },
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    },
    ({ pid, exitCode }) => pid !== undefined && exitCode === null && process.kill(-pid, 'SIGTERM'),
  )
  const ready = /^sallyport run listening on (http:\S+),? /m
  await eventually(() => ready.test(second.output.stdout), 60).catch(() => assert.fail(second.output.stderr))

  const [, there = ''] = ready.exec(second.output.stdout) ?? []
  const [, here = ''] = /listening on (http:\S+)/.exec(started.output.stdout) ?? []
  assert.notEqual(there, here)
  const asked = `/catalogue/registry/default/v0.1/servers`
  for (const main of [there, here]) {
    const { status, headers } = await fetch(main + asked)
    assert.equal(status, 401)
    assert.ok(headers.get('www-authenticate')?.includes(`resource_metadata="${main}/`), main)
  }
  const explained = stops[4]?.[1] ?? ''
  assert.match((await paste(explained, folder(t))).stdout, /accepts it/)
})

test('quickstart avoids a busy 8080, and fails when the port of --port is busy', async (t) => {
  const busy = createServer()
  t.after(() => busy.close())
  // Any process that already has the port serves this test as well.
  const port = await new Promise<number>((resolve) => {
    busy.once('error', () => resolve(8080))
    busy.listen(8080, '127.0.0.1', () => resolve(8080))
  })

  const { started } = await toured(t, [])
  assert.doesNotMatch(started.output.stdout, new RegExp(`listening on http://127.0.0.1:${port}\\b`))
  const asked = program(t, ['quickstart', '--port', String(port)])
  assert.equal(await asked.ended(), 2)
  assert.match(asked.output.stderr, /127\.0\.0\.1:8080: the port is in use/)
})

test('the printed list holds no secret', async (t) => {
  const printing = program(t, ['quickstart', '--print-plugins'])
  assert.equal(await printing.ended(), 0, printing.output.stderr)
  assert.match(printing.output.stdout, /clientSecret: "\*\*\*"/)
  assert.doesNotMatch(printing.output.stdout, /of-the-gateway-/)
})

test('on a terminal the tour is printed without lines of the log', { skip: noTerminal }, async (t) => {
  const command = `echo $$; exec ${process.execPath} ${bin} quickstart --port 0`
  const env = { PATH: process.env['PATH'] ?? '', HOME: folder(t), TMPDIR: folder(t), NO_COLOR: '1' }
  // Not by way of the terminal, whose end means a reload.
  const { output } = onTerminal(t, command, env, () =>
    process.kill(Number.parseInt(output.stdout, 10), 'SIGTERM'),
  )
  await eventually(() => WHOLE_TOUR.test(output.stdout.replaceAll('\r\n', '\n')))

  assert.match(output.stdout, /^\d+\r\nsallyport quickstart listening on /)
  assert.doesNotMatch(output.stdout, /(?:INFO|WARN)\S*: /)
})

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { eventually } from 'sallyport/testing'
import { PAGE, Person } from '#kit/person.js'
import { HOUR, twoClocks } from '#kit/two-clocks.js'
import { signInRegistry } from './sign-in-registry.js'

const renewals = (requests: readonly string[]): number =>
  requests.filter((each) => each === 'POST /token').length - 1

test('CL-22 T15: a session is renewed with its refresh token, one at a time, and ends when the issuer says so', async (t) => {
  // Less than the time before its end at which a token is renewed.
  let lifetime = 4
  const people = { refreshes: true, lifetime: () => lifetime }
  const { origin, issuer } = await signInRegistry(t, { people })
  const person = new Person()
  const page = `${origin}/registry/default`
  const link = `${origin}/sign-in?return=/signed-out`
  await person.follow(link, (url) => url.startsWith(`${origin}/?`) || url === `${origin}/`)
  const before = [...person.cookies(origin)]
  assert.ok(before.length > 0)

  lifetime = 300
  const answers = await Promise.all(Array.from({ length: 20 }, () => person.ask(page)))
  for (const { status } of answers) assert.equal(status, 200)
  for (const { headers } of answers) {
    assert.match(headers.getSetCookie()[0] ?? '', /^sallyport-session-[\w-]{10}=ey/)
    assert.equal(headers.get('cache-control'), 'no-store')
  }
  assert.equal(renewals(issuer.requests), 1)
  assert.equal((await person.ask(page)).headers.getSetCookie().length, 0)
  assert.notDeepEqual([...person.cookies(origin)], before)

  // The browser may have sent requests with the cookie before.
  const late = new Person()
  for (const [name, value] of before) late.cookies(origin).set(name, value)
  assert.equal((await late.ask(page)).status, 200)
  assert.equal(renewals(issuer.requests), 1)
})

test('a replica that is too late to renew a session leaves the cookie of the one that was not', async (t) => {
  let lifetime = 4
  const people = { refreshes: true, lifetime: () => lifetime }
  const { origin, issuer, replica } = await signInRegistry(t, { people })
  const page = `${origin}/registry/default`
  const person = new Person()
  await person.signIn(`${origin}/registry/open`)
  const cookie = [...person.cookies(origin)].map(([name, value]) => `${name}=${value}`).join('; ')
  lifetime = 300
  assert.equal((await person.ask(page)).status, 200)
  issuer.responses.set('/token', (_request, response) =>
    response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"invalid_grant"}'),
  )

  const late = await fetch(`${await replica()}/registry/default`, { headers: { ...PAGE, cookie } })
  assert.deepEqual([late.status, late.headers.getSetCookie()], [401, []])
  assert.equal((await person.ask(page)).status, 200)
})

test('after a reload the gateway knows recent renewals and ended sessions', async (t) => {
  let lifetime = 4
  const people = { refreshes: true, lifetime: () => lifetime }
  const { origin, issuer, reload } = await signInRegistry(t, { people })
  const page = `${origin}/registry/default`
  const [one, other] = [new Person(), new Person()]
  for (const person of [one, other]) await person.signIn(`${origin}/registry/open`)
  const copies = [one, other].map((person) => new Map(person.cookies(origin)))
  lifetime = 300
  assert.equal((await one.ask(page)).status, 200)
  assert.equal((await other.ask(`${origin}/sign-out`, { method: 'POST', headers: { origin } })).status, 303)
  const asked = issuer.requests.filter((each) => each === 'POST /token').length
  await reload()

  const answers = copies.map((cookies) => {
    const person = new Person()
    for (const [name, value] of cookies) person.cookies(origin).set(name, value)
    return person.ask(page)
  })
  assert.deepEqual(
    (await Promise.all(answers)).map(({ status }) => status),
    [200, 401],
  )
  assert.equal(issuer.requests.filter((each) => each === 'POST /token').length, asked)
})

test('a session without a refresh token ends with its token', async (t) => {
  const { origin } = await signInRegistry(t, { people: { lifetime: () => 4 } })
  const person = new Person()
  assert.equal((await person.signIn(`${origin}/registry/default`)).status, 200)
  await eventually(async () => (await person.ask(`${origin}/registry/default`)).status === 401 || undefined)
  assert.match(await (await person.ask(`${origin}/registry/open`)).text(), /Sign in</)
})

test('a session that cannot be renewed is over or waits, as the issuer says', async (t) => {
  const { origin, issuer, lines } = await signInRegistry(t, {
    people: { refreshes: true, lifetime: () => 4 },
  })
  const person = new Person()
  const page = `${origin}/registry/default`
  const answers = (status: number, error: string) =>
    issuer.responses.set('/token', (_request, response) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify({ error })),
    )
  await person.signIn(`${origin}/registry/open`)
  answers(503, 'temporarily_unavailable')
  assert.equal((await person.ask(page)).status, 200, 'its token is still good')
  const away = await eventually(async () => {
    const answer = await person.ask(page)
    return answer.status === 503 ? answer : undefined
  })
  assert.match(await away.text(), /sign_in_unavailable/)
  assert.equal((await person.ask(`${origin}/registry/open`)).status, 200)
  for (const [status, error] of [
    [401, 'invalid_client'],
    [400, 'temporarily_unavailable'],
    [429, 'slow_down'],
  ] as const) {
    answers(status, error)
    assert.equal((await person.ask(page)).status, 503, error)
    assert.ok(person.cookies(origin).size > 0, error)
  }

  answers(400, 'invalid_grant')
  assert.equal((await person.ask(page)).status, 401)
  const asked = renewals(issuer.requests)
  assert.equal((await person.ask(page)).status, 401)
  assert.equal(renewals(issuer.requests), asked, 'the answer is known')
  assert.match(JSON.stringify(lines), /could not be renewed/)
})

test('a sign-out holds, also during a renewal and for copies of the cookies', async (t) => {
  let lifetime = 4
  const people = { refreshes: true, lifetime: () => lifetime }
  const { origin, issuer } = await signInRegistry(t, { people })
  const page = `${origin}/registry/default`
  const signOut = async (person: Person) => {
    const { status } = await person.ask(`${origin}/sign-out`, { method: 'POST', headers: { origin } })
    assert.equal(status, 303)
  }
  const copyOf = (cookies: ReadonlyMap<string, string>) => {
    const other = new Person()
    for (const [name, value] of cookies) other.cookies(origin).set(name, value)
    return other
  }
  const isOver = async (answer: Promise<Response>) => {
    const { status, headers } = await answer
    assert.deepEqual([status, headers.getSetCookie()], [401, []])
  }

  const after = new Person()
  await after.signIn(`${origin}/registry/open`)
  const before = new Map(after.cookies(origin))
  lifetime = 300
  assert.equal((await after.ask(page)).status, 200)
  await signOut(after)
  await isOver(copyOf(before).ask(page))

  lifetime = 4
  const person = new Person()
  await person.signIn(`${origin}/registry/open`)
  const cookies = new Map(person.cookies(origin))
  lifetime = 300
  const token = { access_token: await issuer.token(), refresh_token: 'renewed', token_type: 'Bearer' }
  const asked = new Promise<() => void>((resolve) =>
    issuer.responses.set('/token', (_request, response) =>
      resolve(() =>
        response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(token)),
      ),
    ),
  )
  let revoked = ''
  issuer.responses.set('/token/revocation', (request, response) => {
    request.on('data', (chunk) => {
      revoked += String(chunk)
    })
    request.on('end', () => response.end())
  })
  const during = person.ask(page)
  const renew = await asked
  await signOut(copyOf(cookies))
  renew()
  await isOver(during)
  await eventually(() => /\btoken=renewed\b/.test(revoked) || undefined)
  await isOver(copyOf(cookies).ask(page))
})

test('a session is renewed although the metadata of the issuer cannot be read again', async (t) => {
  const clock = twoClocks(t)
  const { origin, issuer } = await signInRegistry(t, { people: { refreshes: true } })
  const person = new Person()
  const page = `${origin}/registry/default`
  assert.equal((await person.signIn(page)).status, 200)
  clock.passed(660_000)
  const places = ['/.well-known/openid-configuration', '/.well-known/oauth-authorization-server']
  const asked = issuer.requests.length
  for (const place of places)
    issuer.responses.set(place, (_request, response) => response.writeHead(500).end())
  assert.equal((await person.ask(page)).status, 200)
  assert.equal(renewals(issuer.requests), 1)
  const isDiscovery = (each: string) => places.some((place) => each.endsWith(place))
  assert.ok(issuer.requests.slice(asked).some(isDiscovery), 'they were asked for')
})

test('the metadata of the issuer is read again in time, although the clock went back an hour', async (t) => {
  const clock = twoClocks(t)
  const { origin, issuer } = await signInRegistry(t)
  const begin = () => new Person().ask(`${origin}/sign-in?return=/`)
  const discoveries = () => issuer.requests.filter((each) => each.includes('/.well-known/')).length
  assert.equal((await begin()).status, 303)
  const before = discoveries()
  clock.set(-HOUR)
  assert.equal((await begin()).status, 303)
  assert.equal(discoveries(), before)
  clock.passed(600_001)
  assert.equal((await begin()).status, 303)
  assert.ok(discoveries() > before)
})

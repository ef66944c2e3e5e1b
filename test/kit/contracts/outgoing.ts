import { Credential, GatewayError, HeaderSource, type Held, headerName, isHeaderValue } from 'sallyport'
import {
  type Contract,
  isObject,
  leavesRequestsAlone,
  messageOf,
  type Outcome,
  type Place,
} from './contract.js'

const BEFORE: Held = {
  header: 'authorization',
  value: 'Bearer before',
  accessToken: 'before',
  idToken: 'before',
}

function malformed(held: unknown): string | undefined {
  if (held === undefined) return undefined
  if (!isObject(held)) return 'what it presents is no object'
  const { header, value, expiresAt } = held
  if (typeof header !== 'string' || header !== header.toLowerCase() || !isName(header)) {
    return `its header is not the name of a header in lower case: ${JSON.stringify(header)}`
  }
  if (typeof value !== 'string' || !isHeaderValue(value)) return 'its value cannot stand in a header'
  const seconds = expiresAt === undefined || (typeof expiresAt === 'number' && expiresAt < 1e11)
  return seconds ? undefined : '`expiresAt` is in seconds since the epoch, not in milliseconds'
}

const isName = (name: string): boolean => /^[!#$%&'*+.^_`|~\da-z-]+$/.test(name)

/** With and without somebody before it in the list. */
async function presenting(
  place: Place,
  look: (present: (credential: Credential) => Promise<unknown>, before: Held | undefined) => Promise<Outcome>,
): Promise<Outcome> {
  let fault: Outcome
  for (const held of [undefined, BEFORE]) {
    await place.caller(async (request) => {
      const before = held && { ...held }
      fault ??= await look(async (credential) => credential.present(request, before), before)
    })
  }
  return fault
}

export const credentialContract: Contract<Credential> = {
  capability: Credential,
  clauses: [
    {
      code: 'CREDENTIAL_THROWS',
      asks: 'presents a credential, or says on purpose why there is none',
      advice: 'throw an UpstreamError with a code and a status: callers are told that, and nothing else',
      look: (credential, place) =>
        presenting(place, async (present) => {
          try {
            await present(credential)
            return undefined
          } catch (error) {
            return error instanceof GatewayError ? undefined : `it throws: ${messageOf(error)}`
          }
        }),
    },
    {
      code: 'CREDENTIAL_MALFORMED',
      asks: 'presents what can be sent',
      advice: 'answer { header, value } with the name in lower case, or undefined when it has nothing to add',
      look: (credential, place) =>
        presenting(place, async (present) => malformed(await present(credential).catch(() => undefined))),
    },
    {
      code: 'HELD_CHANGED',
      asks: 'leaves what the credential before it holds as it is',
      advice: 'answer a new object: the one before may be remembered, and used for other requests',
      look: (credential, place) =>
        presenting(place, async (present, before) => {
          await present(credential).catch(() => {})
          const same = before === undefined || JSON.stringify(before) === JSON.stringify(BEFORE)
          return same ? undefined : 'it changes what the one before it holds'
        }),
    },
    {
      code: 'RENEW_MALFORMED',
      asks: 'says by true or false whether another try is worth it',
      advice: 'answer `true` only when the next `present` gives something new; throw nothing',
      async look(credential, place) {
        let fault: Outcome
        await place.caller(async (request) => {
          try {
            const answer: unknown = await credential.renew?.(request, REFUSED)
            if (answer !== undefined && typeof answer !== 'boolean')
              fault = 'it answers neither true nor false'
          } catch (error) {
            if (!(error instanceof GatewayError)) fault = `it throws: ${messageOf(error)}`
          }
        })
        return fault
      },
    },
    leavesRequestsAlone((credential, request) => credential.present(request, undefined)),
  ],
}

const REFUSED = { status: 401, attempt: 1, challenges: ['Bearer error="invalid_token"', ''] } as const

export const headerSourceContract: Contract<HeaderSource> = {
  capability: HeaderSource,
  clauses: [
    {
      code: 'HEADERS_THROW',
      asks: 'answers every request',
      advice: 'answer an empty list when there is nothing to add',
      look: (source, place) =>
        everyHeader(
          place,
          source,
          () => undefined,
          (error) => `it throws: ${messageOf(error)}`,
        ),
    },
    {
      code: 'HEADERS_UNDECLARED',
      asks: 'adds only headers that it names',
      advice: 'list every header in `names`, in lower case: the copies of the caller are removed by it',
      async look(source, place) {
        const loud = source.names.filter((name) => name !== name.toLowerCase())
        if (loud.length > 0) return `not in lower case: ${loud.join(', ')}`
        return everyHeader(place, source, ([name]) =>
          source.names.includes(String(name)) ? undefined : `not in its names: ${name}`,
        )
      },
    },
    {
      code: 'HEADERS_MALFORMED',
      asks: 'adds what can be sent',
      advice: 'give pairs of a name and a value, without control characters, and none that frames a message',
      async look(source, place) {
        const bad = source.names.find((name) => !headerName().safeParse(name).success)
        if (bad !== undefined) return `a gateway never sends "${bad}" for anybody`
        return everyHeader(place, source, ([, value]) =>
          typeof value === 'string' && isHeaderValue(value) ? undefined : 'a value cannot stand in a header',
        )
      },
    },
    leavesRequestsAlone((source, request) => source.headers(request)),
  ],
}

async function everyHeader(
  place: Place,
  source: HeaderSource,
  look: (header: readonly unknown[]) => string | undefined,
  thrown: (error: unknown) => string | undefined = () => undefined,
): Promise<Outcome> {
  let fault: Outcome
  await place.strangers((request) => {
    try {
      const answer: unknown = source.headers(request)
      if (!Array.isArray(answer)) fault ??= thrown(new Error('its answer is no list'))
      else for (const header of answer) fault ??= Array.isArray(header) ? look(header) : 'a header is no pair'
    } catch (error) {
      fault ??= thrown(error)
    }
  })
  return fault
}

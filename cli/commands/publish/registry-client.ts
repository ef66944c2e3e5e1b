import type { Dispatch } from 'sallyport'
import { OFFICIAL } from 'sallyport/toolkit'
import { z } from 'zod'

/** The answer of a registry, or of the gateway in front of it. */
export interface Answer {
  readonly status: number
  readonly body: unknown
  /** Seconds, if the answer has Retry-After. */
  readonly retryAfter: number | undefined
}

const official = z.object({ status: z.string(), isLatest: z.boolean().optional() })

const serverAnswer = z.object({
  server: z.object({ name: z.string(), version: z.string() }),
  _meta: z.object({ [OFFICIAL]: official }),
})

/** A version in the answer of a registry. */
export interface ServedVersion {
  readonly name: string
  readonly version: string
  readonly status: string
  readonly isLatest: boolean
}

export function versionIn(body: unknown): ServedVersion | undefined {
  const { data } = serverAnswer.safeParse(body)
  if (data === undefined) return undefined
  const { status, isLatest = false } = data._meta[OFFICIAL]
  return { ...data.server, status, isLatest }
}

/** The versions in the answer of a list. */
export const versionsIn = (body: unknown): readonly ServedVersion[] =>
  (z.object({ servers: z.array(z.unknown()) }).safeParse(body).data?.servers ?? []).flatMap(
    (each) => versionIn(each) ?? [],
  )

const versionsPage = z.object({
  servers: z.array(z.unknown()),
  metadata: z.object({ nextCursor: z.string().optional() }).optional(),
})

const encoded = encodeURIComponent

/** Limits of an answer: bytes of one version, bytes of a list of versions, and pages of a list. */
const LIMITS = { version: 4 * 1024 * 1024, list: 64 * 1024 * 1024, pages: 1_000 }

/** Sends requests to the API of a registry, through a list that signs in to it. */
export class RegistryClient {
  constructor(
    private readonly dispatch: Dispatch,
    private readonly api: URL,
  ) {}

  /** The URL of a version. */
  urlOf(name: string, version: string): string {
    return `${this.api.href}${pathOf(name, version)}`
  }

  publish(document: Buffer): Promise<Answer> {
    return this.ask('POST', '/publish', { payload: document })
  }

  validate(document: Buffer): Promise<Answer> {
    return this.ask('POST', '/validate', { payload: document })
  }

  /** A version, also a deleted one; `latest` is never a deleted one. */
  version(name: string, version: string): Promise<Answer> {
    const deleted = version === 'latest' ? '' : '?include_deleted=true'
    return this.ask('GET', pathOf(name, version) + deleted)
  }

  /** All versions of a server, from all pages. */
  async versions(name: string): Promise<Answer> {
    const servers: unknown[] = []
    const seen = new Set<string>()
    for (let cursor: string | undefined = ''; ; seen.add(cursor)) {
      const query: string = cursor === '' ? '' : `&cursor=${encoded(cursor)}`
      const path = `/servers/${encoded(name)}/versions?include_deleted=true${query}`
      const answer = await this.ask('GET', path, { maxBytes: LIMITS.list })
      const page = versionsPage.safeParse(answer.body).data
      if (answer.status !== 200 || page === undefined) return answer
      servers.push(...page.servers)
      cursor = page.metadata?.nextCursor
      if (cursor === undefined || cursor === '') return { ...answer, body: { servers } }
      if (seen.has(cursor) || seen.size === LIMITS.pages)
        return { ...answer, status: 502, body: { error_description: 'its list of versions does not end' } }
    }
  }

  /** Whether the URL names a registry; undefined when the answer does not show it. */
  async isThere(): Promise<boolean | undefined> {
    const { status } = await this.ask('GET', '/servers?limit=1')
    return status === 404 ? false : status === 200 ? true : undefined
  }

  setStatus(name: string, version: string | undefined, change: object): Promise<Answer> {
    const path = version === undefined ? `/servers/${encoded(name)}` : pathOf(name, version)
    return this.ask('PATCH', `${path}/status`, {
      payload: Buffer.from(JSON.stringify(change)),
      maxBytes: version === undefined ? LIMITS.list : LIMITS.version,
    })
  }

  private async ask(
    method: 'GET' | 'POST' | 'PATCH',
    path: string,
    { payload, maxBytes = LIMITS.version }: { readonly payload?: Buffer; readonly maxBytes?: number } = {},
  ): Promise<Answer> {
    const response = await this.dispatch({
      method,
      payloadAsStream: true,
      url: this.api.pathname + path,
      headers: {
        accept: 'application/json',
        ...(payload !== undefined && { 'content-type': 'application/json' }),
      },
      ...(payload !== undefined && { payload }),
    })
    const retryAfter = Number(response.headers['retry-after'] ?? Number.NaN)
    const read = await readBody(response, maxBytes)
    return {
      status: 'fault' in read ? 502 : response.statusCode,
      body: 'fault' in read ? { error_description: read.fault } : parsed(read.text),
      retryAfter: Number.isFinite(retryAfter) ? retryAfter : undefined,
    }
  }
}

const pathOf = (name: string, version: string): string =>
  `/servers/${encoded(name)}/versions/${encoded(version)}`

function parsed(body: string): unknown {
  try {
    return JSON.parse(body)
  } catch {
    return undefined
  }
}

type Response = Awaited<ReturnType<Dispatch>>

/** Milliseconds for a body. Other timeouts limit the time before it: that of the target, and that of the sign-in. */
const BODY_TIMEOUT = 60_000

/** The body of an answer, or a sentence about its fault: a server may send endless data. */
async function readBody(
  response: Response,
  maxBytes: number,
  timeout = BODY_TIMEOUT,
): Promise<{ readonly text: string } | { readonly fault: string }> {
  const stream = response.stream()
  const chunks: Buffer[] = []
  let size = 0
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    stream.destroy()
  }, timeout)
  try {
    for await (const chunk of stream) {
      size += chunk.length
      if (size > maxBytes) return { fault: `its answer has more than ${maxBytes} bytes` }
      chunks.push(chunk)
    }
    return { text: Buffer.concat(chunks).toString() }
  } catch {
    return { fault: isLate ? `its answer did not end within ${timeout / 1000} s` : 'its answer broke off' }
  } finally {
    clearTimeout(timer)
    response.raw.res.destroy()
  }
}

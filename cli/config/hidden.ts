import { normalize } from 'node:path'
import { withoutSecrets } from '#core/log/scrubber.js'
import { namesLoopback } from '#core/toolkit/address.js'

// What is made of a value, such as the host of a URL, is no secret of its own when it is as short as a word.
const SHORTEST_PART = 6
// Shorter ones are also pieces of words: they are hidden where they stand as a value, and the scrubber leaves them.
const SHORTEST = 4

/** Texts that are printed nowhere, for as long as a command runs. */
class Hidden {
  private readonly secrets = new Set<string>()
  private runs = 0

  /** From now on `value` is hidden, and what is made of it. */
  add(value: string): void {
    for (const part of partsOf(value)) {
      this.secrets.add(part)
      // As in the URL of a file: the scrubber knows how queries and forms encode it. By bytes, as half of a pair would throw.
      this.secrets.add(encodeURI(Buffer.from(part).toString()))
    }
  }

  /** Runs that go on at once in one process hide the secrets of each other. */
  begin(): void {
    this.runs++
  }

  /** The last of them forgets all. */
  end(): void {
    this.runs--
    if (this.runs === 0) this.secrets.clear()
  }

  text(text: string): string {
    const secrets = [...this.secrets]
    const short = secrets.filter(({ length }) => length > 0 && length < SHORTEST)
    return withoutShort(withoutSecrets(text, secrets), short)
  }

  /** The same for a value of settings, and for all in it. */
  value(value: unknown): unknown {
    if (typeof value === 'string') return this.text(value)
    if (Array.isArray(value)) return value.map((item) => this.value(item))
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(Object.entries(value).map(([key, item]) => [this.text(key), this.value(item)]))
  }
}

/** What came from the environment, a file or a secret flag: no line for a person has it. */
export const hidden = new Hidden()

const withoutShort = (text: string, secrets: readonly string[]): string =>
  secrets.reduce(
    (rest, secret) =>
      rest.replace(
        new RegExp(`(?<=["'\`/=])${RegExp.escape(secret)}(?=["'\`/:,;)\\s]|$)`, 'gi'),
        () => '***',
      ),
    text,
  )

/** A value, and what else is made of it: paths, and parts of URLs. */
export function partsOf(value: string): readonly string[] {
  const parts = [value.trim(), ...pathsOf(value.trim()), ...urlsOf(value.trim())]
  return [value, ...parts.filter((part) => part.length >= SHORTEST_PART)]
}

/** As it ends a path that was put together. */
function pathsOf(value: string): readonly string[] {
  const path = normalize(value).replace(/^(?:\.{1,2}\/)+/, '')
  return [path, path.replace(/\/+$/, '')]
}

function urlsOf(value: string): readonly string[] {
  if (!URL.canParse(value)) return []
  const url = new URL(value)
  const { href, host, hostname, pathname } = url
  // Without its own address, each line about a client on this machine would lack it.
  const hosts = namesLoopback(url) ? [] : [host, hostname]
  return [href, href.replace(/\/$/, ''), ...hosts, pathname]
}

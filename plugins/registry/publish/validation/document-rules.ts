import { isJsonObject, type JsonObject, PUBLISHER } from 'sallyport/toolkit'
import { type Finding, finding, type Path, semantic } from './issue.js'
import { objectsIn, packageFindings, urlFindings } from './package-rules.js'
import { SCHEMA_URL } from './schema-findings.js'
import { addressFindings, serverVersionFindings } from './value-rules.js'

/** The official registry's rules for a document beyond the schema, as far as they suit a company's registry. */
export function semanticFindings(document: JsonObject): readonly Finding[] {
  const { name, version, title, repository, websiteUrl, icons, packages, remotes } = document
  return [
    ...schemaUrlFindings(document['$schema']),
    ...nameFindings(name),
    ...serverVersionFindings(version, ['version']),
    ...(isJsonObject(repository) ? repositoryFindings(repository) : []),
    ...(typeof websiteUrl === 'string'
      ? addressFindings(websiteUrl, ['websiteUrl'], { reference: 'invalid-website-url' })
      : []),
    ...titleFindings(title),
    ...objectsIn(icons).flatMap(([icon, index]) => iconFindings(icon, ['icons', index, 'src'])),
    ...objectsIn(packages).flatMap(([one, index]) => packageFindings(one, ['packages', index])),
    ...remoteFindings(remotes),
  ]
}

// Schemas that were published before the one in force. Most of their documents fit it too.
const OLDER = ['2025-07-09', '2025-09-16', '2025-09-29', '2025-10-11', '2025-10-17']
// The official registry gives the member this name, and its command line looks for it.
const SCHEMA = ['schema']

function schemaUrlFindings(url: unknown): readonly Finding[] {
  if (url === SCHEMA_URL) return []
  if (url === undefined || url === '') {
    return [semantic(SCHEMA, 'schema-field-required', `$schema field is required: ${SCHEMA_URL} is expected`)]
  }
  const [, version = ''] = SCHEMA_URL.split('/schemas/')
  const older = OLDER.find((date) => url === SCHEMA_URL.replace(version, `${date}/server.schema.json`))
  if (older !== undefined) {
    const message = `schema version ${older} is not the current version, and the current one judges: ${SCHEMA_URL} is expected`
    return [finding('semantic', SCHEMA, 'schema-version-deprecated', message, 'warning')]
  }
  return [
    finding('schema', SCHEMA, 'schema-version-not-available', `unknown schema: ${SCHEMA_URL} is expected`),
  ]
}

const NAMESPACE = /^[a-zA-Z0-9][a-zA-Z0-9.-]*[a-zA-Z0-9]$/
const NAME = /^[a-zA-Z0-9][a-zA-Z0-9._-]*[a-zA-Z0-9]$/

function nameFindings(name: unknown): readonly Finding[] {
  if (typeof name !== 'string' || name.length > 200) return []
  const [namespace = '', own = '', ...more] = name.split('/')
  if (NAMESPACE.test(namespace) && NAME.test(own) && more.length === 0) return []
  const form = 'a reverse-DNS namespace, one slash and a name are expected, such as com.example/weather'
  const detail =
    'two letters or digits at least, and between them dots and hyphens too, in the name underscores as well'
  return [semantic(['name'], 'invalid-server-name', `${form}: ${detail}`)]
}

const titleFindings = (title: unknown): readonly Finding[] =>
  typeof title === 'string' && title !== '' && title.trim() === ''
    ? [semantic(['title'], 'title-whitespace-only', 'a title is expected, and it is white space')]
    : []

function repositoryFindings({ url, subfolder }: JsonObject): readonly Finding[] {
  const findings =
    typeof url === 'string'
      ? addressFindings(url, ['repository', 'url'], { reference: 'invalid-repository-url' })
      : []
  if (typeof subfolder !== 'string' || subfolder === '' || isCleanPath(subfolder)) return findings
  const message = 'a relative path is expected, such as src/server, without . and .. in it'
  return [...findings, semantic(['repository', 'subfolder'], 'invalid-subfolder-path', message)]
}

const isCleanPath = (path: string): boolean =>
  /^[a-zA-Z0-9\-_./]+$/.test(path) &&
  path.split('/').every((part) => part !== '' && part !== '.' && part !== '..')

function iconFindings({ src }: JsonObject, at: Path): readonly Finding[] {
  if (typeof src !== 'string') return []
  if (/^data:image\/(?:png|jpeg|jpg|svg\+xml|webp)[;,]/.test(src)) return []
  if (src.startsWith('https://')) return addressFindings(src, at, { reference: 'icon-src-invalid-url' })
  return [
    semantic(at, 'icon-src-invalid-scheme', 'a URL that begins with https:// or data:image/ is expected'),
  ]
}

function remoteFindings(remotes: unknown): readonly Finding[] {
  const seen = new Map<string, number>()
  return objectsIn(remotes).flatMap(([{ url, variables }, index]) => {
    if (typeof url !== 'string') return []
    const at = ['remotes', index, 'url']
    const known = isJsonObject(variables) ? Object.keys(variables) : []
    const rule = { reference: 'invalid-remote-url', hasVariables: true, tellsPrivate: true } as const
    const findings = urlFindings(url, at, known, rule)
    const first = seen.get(url)
    if (first === undefined) seen.set(url, index)
    if (first === undefined) return findings
    return [
      ...findings,
      semantic(at, 'duplicate-remote-url', `another URL than that of remotes[${first}] is expected`),
    ]
  })
}

const MOST_BYTES = 4_096

/** `compactBytes`: how many bytes the member has without white space. */
export const extensionFindings = (compactBytes: number): readonly Finding[] =>
  compactBytes <= MOST_BYTES
    ? []
    : [
        semantic(
          ['_meta', PUBLISHER],
          'publisher-extension-too-large',
          `at most ${MOST_BYTES} bytes of JSON are expected, and there are ${compactBytes}`,
        ),
      ]

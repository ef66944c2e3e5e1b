import { isJsonObject, type JsonObject } from 'sallyport/toolkit'
import { type Finding, type Path, quoted, semantic, warning } from './issue.js'
import { addressFindings, variablesIn, versionFindings } from './value-rules.js'

export const objectsIn = (value: unknown): readonly (readonly [JsonObject, number])[] =>
  Array.isArray(value)
    ? value.flatMap((each: unknown, index) => (isJsonObject(each) ? [[each, index] as const] : []))
    : []

/** The official registry's rules for a package, without a request to the package's own registry. */
export function packageFindings(one: JsonObject, at: Path): readonly Finding[] {
  const { identifier, registryBaseUrl, registryType, version } = one
  return [
    ...identifierFindings(identifier, [...at, 'identifier']),
    ...versionFindings(version, [...at, 'version']),
    ...(typeof registryBaseUrl === 'string'
      ? addressFindings(registryBaseUrl, [...at, 'registryBaseUrl'], {
          reference: 'invalid-registry-base-url',
        })
      : []),
    ...(typeof registryType === 'string' ? typeFindings(registryType, one, at) : []),
    ...(['runtimeArguments', 'packageArguments'] as const).flatMap((list) =>
      objectsIn(one[list]).flatMap(([argument, index]) => argumentFindings(argument, [...at, list, index])),
    ),
    ...transportFindings(one, [...at, 'transport']),
  ]
}

function identifierFindings(identifier: unknown, at: Path): readonly Finding[] {
  if (typeof identifier !== 'string') return []
  if (identifier === '')
    return [semantic(at, 'package-identifier-required', 'the name of a package is expected')]
  return /[\s\p{Cc}]/u.test(identifier)
    ? [semantic(at, 'package-name-has-spaces', 'a package name without spaces is expected')]
    : []
}

const WITH_VERSION = new Set(['npm', 'pypi', 'nuget', 'cargo', 'go'])

function typeFindings(type: string, one: JsonObject, at: Path): readonly Finding[] {
  if (type === 'oci') return imageFindings(one, at)
  if (type === 'mcpb') return bundleFindings(one, at)
  if (!WITH_VERSION.has(type)) {
    const message = `npm, pypi, nuget, oci or mcpb is expected: clients may not know how to run ${quoted(type)}`
    return [warning([...at, 'registryType'], 'unknown-registry-type', message)]
  }
  if (one['version'] !== undefined) return []
  return [semantic([...at, 'version'], 'package-version-required', `is required for ${type}, and missing`)]
}

// [host[:port]/]path[:tag][@digest], the grammar of the OCI distribution specification.
const IMAGE =
  /^(?:[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?(?::\d{1,5})?\/)?[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*(?:\/[a-z0-9]+(?:(?:\.|_{1,2}|-+)[a-z0-9]+)*)*(?::(?<tag>[A-Za-z0-9_][A-Za-z0-9._-]{0,127}))?(?:@(?<digest>sha256:[a-f0-9]{64}|sha512:[a-f0-9]{128}))?$/
const LONGEST_IMAGE = 512

function imageFindings(one: JsonObject, at: Path): readonly Finding[] {
  const example = 'such as registry.example.com/owner/image:1.0.0'
  const extra = ['registryBaseUrl', 'version', 'fileSha256'].filter((name) => one[name] !== undefined)
  const findings = extra.map((name) =>
    semantic([...at, name], 'oci-package-member', `is not for oci: identifier says it all, ${example}`),
  )
  const { identifier } = one
  if (typeof identifier !== 'string' || identifier === '') return findings
  const place = [...at, 'identifier']
  const { groups } = (identifier.length <= LONGEST_IMAGE && IMAGE.exec(identifier)) || {}
  if (groups === undefined) {
    return [
      ...findings,
      semantic(place, 'invalid-oci-reference', `an image reference is expected, ${example}`),
    ]
  }
  const { tag, digest } = groups
  if (tag === undefined && digest === undefined) {
    const message = `an image with a tag or a digest is expected, ${example}`
    return [...findings, semantic(place, 'oci-tag-or-digest-required', message)]
  }
  if (tag === 'latest' && digest === undefined) {
    findings.push(warning(place, 'oci-tag-latest', `a tag that stays is expected, ${example}`))
  }
  return findings
}

function bundleFindings(one: JsonObject, at: Path): readonly Finding[] {
  const { identifier, fileSha256 } = one
  const sum =
    fileSha256 === undefined
      ? [semantic([...at, 'fileSha256'], 'mcpb-file-sha256-required', 'is required for mcpb, and missing')]
      : []
  if (typeof identifier !== 'string' || identifier === '') return sum
  return [...sum, ...addressFindings(identifier, [...at, 'identifier'], { reference: 'invalid-mcpb-url' })]
}

function argumentFindings(argument: JsonObject, at: Path): readonly Finding[] {
  const { type, name } = argument
  if (type !== 'named' || typeof name !== 'string') return []
  if (name === '')
    return [semantic([...at, 'name'], 'named-argument-name-required', 'a name such as --port is expected')]
  const findings = (['value', 'default'] as const).flatMap((member) => {
    const text = argument[member]
    if (typeof text !== 'string' || !text.startsWith(name)) return []
    const message = 'the value alone is expected: the name of the argument is put before it'
    return [semantic([...at, member], `argument-${member}-starts-with-name`, message)]
  })
  if (!/[<>$\s\p{Cc}]/u.test(name)) return findings
  const message = 'a name alone is expected, such as --port: the value has its own member'
  return [semantic([...at, 'name'], 'invalid-named-argument-name', message), ...findings]
}

function transportFindings(one: JsonObject, at: Path): readonly Finding[] {
  const { transport } = one
  if (!isJsonObject(transport) || typeof transport['url'] !== 'string' || transport['type'] === 'stdio')
    return []
  const inputs = ['environmentVariables', 'runtimeArguments', 'packageArguments'].flatMap((list) =>
    objectsIn(one[list]).flatMap(([{ name, valueHint }]) => [name, valueHint]),
  )
  const known = inputs.filter((name) => typeof name === 'string')
  const rule = { reference: 'invalid-templated-url', hasVariables: true, anyHttp: true } as const
  return urlFindings(transport['url'], [...at, 'url'], known, rule)
}

// With very many variables, a short document would take long to check.
const MOST_VARIABLES = 32

/** A URL with variables, each of which has to be declared. */
export function urlFindings(
  url: string,
  at: Path,
  known: readonly string[],
  rule: Parameters<typeof addressFindings>[2],
): readonly Finding[] {
  const variables = variablesIn(url)
  if (variables.length > MOST_VARIABLES)
    return [semantic(at, rule.reference, `a URL of at most ${MOST_VARIABLES} variables is expected`)]
  const declared = new Set(known)
  const missing = variables.find((name) => !declared.has(name))
  const unknown =
    missing === undefined
      ? []
      : [
          semantic(
            at,
            'invalid-templated-url',
            `a declared variable is expected, and ${quoted(missing)} is none`,
          ),
        ]
  return [...addressFindings(url, at, rule), ...unknown]
}

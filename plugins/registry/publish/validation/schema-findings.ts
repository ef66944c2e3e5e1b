import { Ajv, type ErrorObject } from 'ajv'
import addFormats from 'ajv-formats'
import { isJsonObject, type JsonObject } from 'sallyport/toolkit'
import { type Errors, finding, MOST_ISSUES, type Path, pathText } from './issue.js'
import published from './server.schema.json' with { type: 'json' }
import { strictSchema } from './strict-schema.js'

/** The schema in force. */
export const SCHEMA_URL = published.$id

// The official registry reads these two of either kind of argument, and documents have them.
const { NamedArgument, PositionalArgument } = published.definitions
const members = (name: string) => ({ type: 'object', properties: { [name]: { type: 'string' } } })
const definitions = {
  ...published.definitions,
  NamedArgument: { allOf: [...NamedArgument.allOf, members('valueHint')] },
  PositionalArgument: { allOf: [...PositionalArgument.allOf, members('name')] },
}
const schema = strictSchema({ ...published, definitions })
const pointers = pointersIn(schema)
// No check against the meta-schema: the schema is a file of this program, and compiling is faster so.
const ajv = new Ajv({
  allErrors: true,
  discriminator: true,
  verbose: true,
  meta: false,
  validateSchema: false,
})
addFormats.default(ajv, ['uri'])
const validate = ajv.compile(schema)

/** The violations of the schema in force, without those at a path where a rule has already found an issue. */
export function schemaErrors(document: unknown, ruled: ReadonlySet<string>): Errors {
  if (validate(document)) return { findings: [], more: 0 }
  const errors = (validate.errors ?? []).filter(isCause)
  const findings = errors.slice(0, MOST_ISSUES).map((error) => {
    const at = [...stepsOf(error.instancePath, document), ...memberOf(error)]
    return finding('schema', at, referenceOf(error), messageOf(error))
  })
  return {
    findings: findings.filter(({ at }) => !ruled.has(pathText(at))),
    more: errors.length - findings.length,
  }
}

/** Whether an error says more than those of the schema around it. */
const isCause = ({ keyword, params, schemaPath }: ErrorObject): boolean =>
  // `required` reports a missing member `type`, and the `anyOf` around it reports other missing members.
  !(keyword === 'discriminator' && params['error'] === 'tag' && params['tagValue'] === undefined) &&
  !/\/anyOf\/\d+\/required$/.test(schemaPath)

/** Ajv names a place by JSON Pointer, which does not distinguish an index from a member. */
function stepsOf(pointer: string, document: unknown): Path {
  let value = document
  return pointer
    .split('/')
    .slice(1)
    .map((written) => {
      const name = written.replaceAll('~1', '/').replaceAll('~0', '~')
      const step = Array.isArray(value) ? Number(name) : name
      value = Array.isArray(value) ? value[Number(name)] : isJsonObject(value) ? value[name] : undefined
      return step
    })
}

const MEMBERS: Readonly<Record<string, string>> = {
  required: 'missingProperty',
  additionalProperties: 'additionalProperty',
  discriminator: 'tag',
}

/** The member that an error of the object around it is about. */
function memberOf({ keyword, params }: ErrorObject): Path {
  const member: unknown = params[MEMBERS[keyword] ?? '']
  return typeof member === 'string' ? [member] : []
}

function referenceOf({ keyword, parentSchema, schemaPath }: ErrorObject): string {
  if (keyword === 'anyOf') return 'positional-argument-value-or-hint-required'
  const pointer = parentSchema === undefined ? undefined : pointers.get(parentSchema)
  return pointer === undefined ? schemaPath : `${pointer}/${keyword}`
}

const TYPES: Readonly<Record<string, string>> = {
  object: 'an object',
  array: 'a list',
  string: 'a text',
  boolean: 'true or false',
}

function messageOf({ keyword, params, parentSchema = {} }: ErrorObject): string {
  switch (keyword) {
    case 'required':
      return 'is required, and missing'
    case 'additionalProperties':
      return `is unknown here: ${listed(Object.keys(parentSchema['properties'] ?? {}))} is expected`
    case 'discriminator':
      return `${listed(tagsOf(parentSchema))} is expected`
    case 'type':
      return `${TYPES[String(params['type'])] ?? params['type']} is expected`
    case 'enum':
      return `${listed(params['allowedValues'])} is expected`
    case 'anyOf':
      return 'value or valueHint is required for a positional argument'
    case 'minLength':
      return `at least ${params['limit']} characters are expected`
    case 'maxLength':
      return `at most ${params['limit']} characters are expected`
    case 'pattern':
      return `a text that matches ${params['pattern']} is expected`
    case 'format':
      return 'a URI is expected, such as https://example.com/'
    default:
      return 'another value is expected'
  }
}

function listed(values: readonly unknown[]): string {
  const names = values.map(String)
  const last = names.pop() ?? 'nothing'
  return names.length === 0 ? last : `${names.join(', ')} or ${last}`
}

/** The values of `type` by which an object chooses its form. */
function tagsOf({ oneOf }: JsonObject): readonly unknown[] {
  const branches = Array.isArray(oneOf) ? oneOf.filter(isJsonObject) : []
  const own = isJsonObject(schema['definitions']) ? schema['definitions'] : {}
  return branches.flatMap((branch) => {
    const { $ref } = branch
    const form = typeof $ref === 'string' ? own[$ref.replace('#/definitions/', '')] : branch
    const properties = isJsonObject(form) ? form['properties'] : undefined
    const type = isJsonObject(properties) ? properties['type'] : undefined
    return isJsonObject(type) && Array.isArray(type['enum']) ? type['enum'] : []
  })
}

function pointersIn(root: JsonObject): ReadonlyMap<object, string> {
  const found = new Map<object, string>()
  const walk = (value: unknown, pointer: string): void => {
    if (typeof value !== 'object' || value === null || found.has(value)) return
    found.set(value, pointer)
    for (const [key, inner] of Object.entries(value)) walk(inner, `${pointer}/${key}`)
  }
  walk(root, '#')
  return found
}

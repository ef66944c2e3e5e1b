import { ResourceMetadata } from '../contract/capabilities/resource-metadata.js'
import { type ConformanceSuite, firstFault, isObject } from './requirement.js'

const LISTS = [
  'authorization_servers',
  'scopes_supported',
  'bearer_methods_supported',
  'resource_signing_alg_values_supported',
  'authorization_details_types_supported',
  'dpop_signing_alg_values_supported',
]
const FLAGS = ['tls_client_certificate_bound_access_tokens', 'dpop_bound_access_tokens_required']
const TEXTS = [
  'resource',
  'jwks_uri',
  'resource_name',
  'resource_documentation',
  'resource_policy_uri',
  'resource_tos_uri',
  'signed_metadata',
]

const isList = (value: unknown): boolean =>
  Array.isArray(value) && value.every((item) => typeof item === 'string')

/** The type that RFC 9728, 2 gives a field; any of the three for others. */
function typeFault(field: string, value: unknown): string | undefined {
  if (LISTS.includes(field)) return isList(value) ? undefined : 'a list of texts'
  if (FLAGS.includes(field)) return typeof value === 'boolean' ? undefined : 'true or false'
  if (TEXTS.includes(field)) return typeof value === 'string' ? undefined : 'a text'
  return ['string', 'boolean'].includes(typeof value) || isList(value)
    ? undefined
    : 'a text, true or false, or a list of texts'
}

export const resourceMetadataConformance: ConformanceSuite<ResourceMetadata> = {
  capability: ResourceMetadata,
  requirements: [
    {
      code: 'RESOURCE_METADATA_MALFORMED',
      statement: 'gives fields of the types that RFC 9728 has for them',
      advice: 'give lists as arrays, also those of one: they are joined with the lists of other plugins',
      check: (document: unknown) =>
        isObject(document) && !Array.isArray(document)
          ? firstFault(Object.entries(document), ([field, value]) => {
              const expected = typeFault(field, value)
              return expected === undefined ? undefined : `\`${field}\` is not ${expected}`
            })
          : 'it is no object',
    },
  ],
}

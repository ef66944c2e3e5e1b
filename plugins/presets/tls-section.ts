import { sectionSchema } from './settings/schema.js'
import { tlsGroup } from './tls.js'

/** The section `tls` of a file. Apart from its flags, which a look at the help loads without a schema. */
export const tlsSection = sectionSchema(tlsGroup.options)
  .optional()
  .describe('speak https on the port, with this certificate')

import { sectionSchema } from './settings/schema.js'
import { tlsGroup } from './tls.js'

/** The section `tls` of a file. In a file of its own, so that the help loads the flags without a schema. */
export const tlsSection = sectionSchema(tlsGroup.options)
  .optional()
  .describe('speak https on the port, with this certificate')

import { z } from 'zod'

const file = () => z.string().min(1)

// YAML reads a version without quotes as a number.
const version = z
  .literal(['1.2', '1.3', 1.2, 1.3])
  .transform((written) => (String(written) === '1.3' ? '1.3' : '1.2'))

export const tlsOptions = z
  .strictObject({
    cert: file().describe("a PEM file: the server's certificate, then those of its issuers"),
    key: file().describe('a PEM file: its private key, not encrypted'),
    clientCa: file().optional().describe('a PEM file: the authorities whose certificates callers may have'),
    clientCertificate: z
      .enum(['none', 'request', 'require'])
      .optional()
      .describe('whether callers are asked for a certificate; `request` with `clientCa`, else `none`'),
    modernCiphers: z
      .boolean()
      .optional()
      .describe('`false`: TLS 1.2 also with ciphers without forward secrecy or authenticated encryption'),
    minVersion: version.prefault('1.2').describe('the oldest version of TLS that the port accepts'),
  })
  .superRefine(({ clientCa, clientCertificate = 'none' }, context) => {
    if (clientCa !== undefined || clientCertificate === 'none') return
    const message = 'needs clientCa: the authorities whose certificates are accepted'
    context.addIssue({ code: 'custom', path: ['clientCertificate'], message })
  })
  .transform(({ clientCa, clientCertificate, ...rest }) => ({
    ...rest,
    clientCa: clientCertificate === 'none' ? undefined : clientCa,
    clientCertificate: clientCertificate ?? (clientCa === undefined ? 'none' : 'request'),
  }))

export type TlsOptions = z.output<typeof tlsOptions>

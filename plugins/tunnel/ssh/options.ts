import { isIP } from 'node:net'
import { z } from 'zod'
import { publicOrigin } from '../public-url.js'
import { parseDestination } from './destination.js'

const port = z.int().min(1).max(65_535)

// In a value of `-o`, ssh reads quotes, and expands `%` and `$`.
const file = z
  .string()
  .regex(/^[^"'%$\\\p{Cc}]+$/u, 'expected a path without quotes, percent signs, dollars and backslashes')

const remoteHost = z
  .string()
  .refine(
    (text) => isIP(text) !== 0 || /^(?:\*|[a-z\d](?:[a-z\d.-]*[a-z\d])?)$/i.test(text),
    'expected an address, a host name, or *',
  )

export const options = z
  .strictObject({
    destination: z
      .string()
      .refine(
        (text) => parseDestination(text) !== undefined,
        'expected [user@]host, with a name, an address, or an alias of the ssh configuration',
      )
      .describe('`[user@]host`; what the ssh configuration of this user says of the host counts'),
    port: port.optional().describe('port of the ssh server; what the ssh configuration says, unless given'),
    identityFile: file.optional().describe('private key to sign in with, and no other'),
    knownHostsFile: file
      .optional()
      .describe(
        'file of host keys to trust, and no other; those of this user and this machine, unless given',
      ),
    remoteHost: remoteHost
      .default('127.0.0.1')
      .describe('where the server is to listen; others than loopback need its `GatewayPorts`'),
    remotePort: z
      .int()
      .min(0)
      .max(65_535)
      .default(0)
      .describe('port on which the server is to listen; 0 lets it choose'),
    publicUrl: z
      .string()
      .optional()
      .describe(
        'the https URL of what leads callers to that port; on loopback the port itself, unless given',
      ),
  })
  .superRefine(({ remoteHost: host, remotePort, publicUrl }, context) => {
    const complain = (path: string, message: string): void =>
      void context.issues.push({ code: 'custom', input: undefined, path: [path], message, continue: true })
    if (publicUrl === undefined) {
      if (!isLoopback(host))
        complain('publicUrl', 'is needed where the server does not listen on its loopback')
      return
    }
    const judged = publicOrigin(publicUrl)
    if ('fault' in judged) complain('publicUrl', judged.fault)
    if (remotePort === 0)
      complain('remotePort', 'is needed with a public URL: what is there has to know the port')
  })

export type SshOptions = z.output<typeof options>

/** The addresses that are written so in a URL. */
const isLoopback = (host: string): boolean => /^127(?:\.\d{1,3}){3}$|^::1$|^localhost$/.test(host)

import type { SettingGroup } from './settings/setting.js'

/** The flags of TLS, each with its path in the section `tls` of a file. */
// biome-ignore format: a setting is a line
export const tlsGroup = {
  title: 'TLS',
  options: [
    { name: 'tls-cert', path: ['tls', 'cert'], type: 'string', placeholder: 'FILE', to: 'listen/http.tls', help: 'PEM certificate of this server, then those of its issuers: the port speaks https. Read again when it changes' },
    { name: 'tls-key', path: ['tls', 'key'], type: 'string', placeholder: 'FILE', to: 'listen/http.tls', help: 'PEM private key of that certificate, not encrypted' },
    { name: 'tls-client-ca', path: ['tls', 'clientCa'], type: 'string', placeholder: 'FILE', to: 'listen/http.tls', help: 'PEM certificates of the authorities whose certificates callers may have' },
    { name: 'tls-client-certificate', path: ['tls', 'clientCertificate'], type: 'choice', choices: ['none', 'request', 'require'], to: 'listen/http.tls', help: 'Whether callers are asked for a certificate; request with --tls-client-ca, else none' },
    { name: 'tls-min-version', path: ['tls', 'minVersion'], type: 'choice', choices: ['1.2', '1.3'], to: 'listen/http.tls', help: 'The oldest version of TLS that is spoken; 1.2 by default' },
  ],
} as const satisfies SettingGroup

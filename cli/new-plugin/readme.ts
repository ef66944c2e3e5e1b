import type { PluginKind } from '../options/plugin.js'

/** What a new plugin says of itself, and where it is named. */
export const readme = (name: string, kind: PluginKind): string => `# ${name}

A plugin for Sallyport.

\`\`\`sh
npm install
npm test          # its own test
npm run verify    # builds it, and holds it against its contract
\`\`\`

A file names it by the path of its \`dist/index.js\`, such as \`./${name}/dist/index.js\`, while you work on it, and
by its package name once it is installed beside the file. ${PLACES[kind] ?? ANYWHERE}

\`\`\`yaml
${(LINES[kind] ?? LISTED).replaceAll('NAME', name)}
\`\`\`
`

const ANYWHERE = 'It stands in a list of `sallyport run`, or under `plugins` in the file of the registry:'

const LISTED = `plugins:
  - use: NAME
    with: {} # its options`

const PLACES: Partial<Record<PluginKind, string>> = {
  authenticator:
    'It stands in a list of `sallyport run` by `use`, or is a provider in the file of the registry:',
  source: 'It stands in a list of `sallyport run` by `use`, or is a source in the file of the registry:',
}

const LINES: Partial<Record<PluginKind, string>> = {
  authenticator: `auth:
  oauth:
    resourceUrl: https://registry.example.com
    providers:
      - { type: NAME, name: mine } # and its options`,
  source: `sources:
  - { name: mine, use: NAME, with: {} } # its options`,
}

import { Authenticator, definePlugin, Policy } from 'sallyport'
import { explainRules } from './tools/explain.js'
import { toolsOptions } from './tools/options.js'
import { Rules } from './tools/rules.js'
import { warningsOf } from './tools/warnings.js'

export default definePlugin({
  name: 'policy/tools',
  api: 1,
  summary: 'Allows or denies tools, prompts and resources by claims and scopes of the caller.',
  provides: [Policy],
  options: toolsOptions,

  setup(gateway, { rules: written }) {
    const authenticators = gateway.use(Authenticator)
    const rules = new Rules(
      written,
      // Where nobody is asked for a token, nobody can get one with more scopes.
      ({ provider }) => !authenticators().some((each) => each.provider === provider && each.open === true),
    )
    gateway.provide(Policy, {
      judge: ({ identity, call, subject }) => rules.judge(identity, call, subject),
      shows: ({ identity }, listed) => listed.map((each) => rules.shows(identity, each)),
      explain: (question) => explainRules(rules, question),
    })
  },

  warnings: ({ rules }) => warningsOf(rules),

  async examine(examination, { rules }) {
    const { examineRules } = await import('./tools/examine.js')
    await examineRules(examination, rules)
  },
})

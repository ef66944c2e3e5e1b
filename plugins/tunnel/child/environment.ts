/** The environment of this process without what is the gateway's own: its secrets are nobody else's business. */
export const environmentOfChild = (): NodeJS.ProcessEnv =>
  Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(?:SALLYPORT|SERVICE)_/.test(name)))

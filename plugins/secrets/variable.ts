/** The environment variable that holds a secret: `my-key` is `SALLYPORT_SECRET_MY_KEY`. */
export const variableOf = (name: string): string =>
  `SALLYPORT_SECRET_${name.toUpperCase().replaceAll(/[^A-Z\d]/g, '_')}`

/** The names that every store takes: they are also names of files, so nothing in them leads elsewhere. */
export const isSecretName = (name: string): boolean => /^[\dA-Za-z_][\w.-]{0,127}$/.test(name)

/** A place in a configuration: keys and indexes from its root. */
export type Path = readonly (string | number)[]

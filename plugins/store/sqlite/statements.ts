import type { DatabaseSync, StatementSync } from 'node:sqlite'

/** A statement by its SQL, which is prepared once. */
export type Statements = (sql: string) => StatementSync

export function statementsOf(database: DatabaseSync): Statements {
  const prepared = new Map<string, StatementSync>()
  return (sql) => {
    const statement = prepared.get(sql) ?? database.prepare(sql)
    prepared.set(sql, statement)
    return statement
  }
}

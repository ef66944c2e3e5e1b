import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'

const directory = join(import.meta.dirname, '../../examples/observability')

export const pathOf = (file: string): string => join(directory, file)
export const textOf = (file: string): string => readFileSync(pathOf(file), 'utf8')

interface DataSource {
  readonly type: string
  readonly uid: string
}

export interface Target {
  readonly refId: string
  readonly datasource: DataSource
  readonly expr: string
  readonly legendFormat: string
  readonly exemplar?: boolean
}

export interface Panel {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly gridPos: { readonly h: number; readonly w: number; readonly x: number; readonly y: number }
  readonly datasource?: DataSource
  readonly fieldConfig?: { readonly defaults: { readonly unit?: string } }
  readonly targets?: readonly Target[]
}

interface Variable {
  readonly name: string
  readonly type: string
  readonly query: string
}

export interface Dashboard {
  readonly uid: string
  readonly schemaVersion: number
  readonly panels: readonly Panel[]
  readonly templating: { readonly list: readonly Variable[] }
  readonly annotations: { readonly list: readonly { readonly expr: string }[] }
}

export const dashboard: Dashboard = JSON.parse(textOf('dashboard.json'))

export interface Rule {
  readonly alert: string
  readonly expr: string
  readonly labels: Readonly<Record<string, string>>
  readonly annotations: Readonly<Record<string, string>>
}

interface RuleFile {
  readonly groups: readonly { readonly rules: readonly Rule[] }[]
}

const ruleFile: RuleFile = parse(textOf('rules.yaml'))
export const rules: readonly Rule[] = ruleFile.groups.flatMap((group) => group.rules)

/** A query to Prometheus, and the panel, variable or alert that it comes from. */
export interface Query {
  readonly where: string
  readonly expr: string
  /** Labels that its legend or annotation names. */
  readonly named: readonly string[]
}

const labelsIn = (text: string, pattern: RegExp): string[] =>
  [...text.matchAll(pattern)].map(([, label = '']) => label)

export const queries: readonly Query[] = [
  ...dashboard.panels.flatMap(({ title, targets = [] }) =>
    targets.map(({ expr, legendFormat }) => ({
      where: `panel ${title}`,
      expr,
      named: labelsIn(legendFormat, /\{\{(\w+)\}\}/g),
    })),
  ),
  ...dashboard.templating.list
    .filter(({ type }) => type === 'query')
    .map(({ name, query }) => {
      const [, metric = '', label = ''] = /^label_values\((\w+), (\w+)\)$/.exec(query) ?? []
      return { where: `variable ${name}`, expr: metric, named: [label] }
    }),
  ...rules.map(({ alert, expr, annotations }) => ({
    where: `alert ${alert}`,
    expr,
    named: labelsIn(Object.values(annotations).join(' '), /\$labels\.(\w+)/g),
  })),
]

/** The query as Grafana sends it. */
export const filledIn = (expr: string): string =>
  expr.replaceAll('$__rate_interval', '1m').replaceAll('$instance', '.*')

/** The metrics of a query with the labels that it selects by. */
export function selectorsIn(expr: string): { readonly metric: string; readonly labels: readonly string[] }[] {
  const found = expr.matchAll(/\b((?:sallyport|mcp|process|nodejs)_\w+|up)\b(?:\{([^}]*)\})?/g)
  return [...found].map(([, metric = '', labels = '']) => ({
    metric,
    labels: labelsIn(labels, /(\w+)(?:!~|=~|!=|=)"/g),
  }))
}

/** The labels by which a query aggregates samples. */
export const groupedBy = (expr: string): string[] => [
  ...new Set(
    [...expr.matchAll(/\b(?:by|on|group_left) \(([^)]*)\)/g)]
      .flatMap(([, labels = '']) => labels.split(', '))
      .filter((label) => label !== ''),
  ),
]

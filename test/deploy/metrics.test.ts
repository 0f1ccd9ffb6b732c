import { globSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { operations } from '../../services/operations.ts'
import { environment, roles } from '../../services/platform/config/config.ts'
import { createMetrics, type Metrics, serveMetrics } from '../../services/platform/telemetry/metrics.ts'
import { read } from './deploy-files.ts'
import { type Matcher, matchersOf, metricsOf, unbalanced } from './prom-ql.ts'

type Rule = {
  readonly alert: string
  readonly expr: string
  readonly for?: string
  readonly labels: Readonly<Record<string, string>>
}
type RuleFile = { readonly groups: readonly { readonly name: string; readonly rules: readonly Rule[] }[] }
type Panel = {
  readonly title: string
  readonly targets?: readonly { readonly expr: string }[]
  readonly datasource?: { readonly uid: string }
}
type Job = {
  readonly job_name: string
  readonly dns_sd_configs: readonly { readonly names: readonly string[]; readonly port: number }[]
}

const ruleFile: RuleFile = parse(read('deploy/prometheus/alerts.yaml'))
const rules = ruleFile.groups.flatMap(group => group.rules)
const dashboard: { readonly panels: readonly Panel[] } = JSON.parse(read('deploy/grafana/dashboard.json'))
const prometheus: { readonly rule_files: readonly string[]; readonly scrape_configs: readonly Job[] } = parse(
  read('deploy/prometheus/prometheus.yaml'),
)
const fromRules = rules.map(({ alert, expr }) => [alert, expr] as const)
const fromPanels = dashboard.panels.flatMap(({ title, targets = [] }) =>
  targets.map(({ expr }) => [title, expr] as const),
)
const expressions = [...fromRules, ...fromPanels]

/** Metrics that Prometheus creates. */
const ofPrometheus = ['up']
const labelsOfPrometheus = ['job', 'instance', 'le']

let metrics: Metrics
/** The names of the series that a process exports. */
let exported: ReadonlySet<string>

beforeAll(async () => {
  metrics = createMetrics()
  await using server = await serveMetrics(metrics, { host: '127.0.0.1', port: 0 })
  const text = await (await fetch(`http://127.0.0.1:${server.port}/metrics`)).text()
  const types = [...text.matchAll(/^# TYPE (\S+) (\w+)$/gm)].map(([, name = '', type = '']) => [name, type] as const)
  exported = new Set(
    types.flatMap(([name, type]) =>
      type === 'histogram' ? ['_bucket', '_sum', '_count'].map(end => name + end) : [name],
    ),
  )
})
afterAll(() => metrics.registry.clear())

const metricOf = (series: string): object => {
  const name = [series, series.replace(/_(bucket|sum|count)$/, '')].find(
    one => metrics.registry.getSingleMetric(one) !== undefined,
  )
  return metrics.registry.getSingleMetric(name ?? series) ?? {}
}

const listOf = (series: string, member: 'labelNames' | 'upperBounds'): readonly (string | number)[] => {
  const list: unknown = Reflect.get(metricOf(series), member)
  return Array.isArray(list) ? list : []
}

/** The metrics of the catalogue whose key no source names. */
const unsetIn = (sources: string): readonly string[] =>
  Object.entries(metrics).flatMap(([key, metric]) =>
    key === 'registry' || new RegExp(`\\b${key}\\b`).test(sources) ? [] : [String(Reflect.get(metric, 'name'))],
  )

/** Reason why a matcher matches no exported metric. Null if it matches. */
const mistakeOf = ({ metric, label, value }: Matcher): string | null => {
  if (!ofPrometheus.includes(metric) && ![...listOf(metric, 'labelNames'), ...labelsOfPrometheus].includes(label)) {
    return `${metric} has no label ${label}`
  }
  if (label === 'le' && !listOf(metric, 'upperBounds').includes(Number(value)))
    return `${metric} has no bucket ${value}`
  const known = label === 'operation' ? ['none', ...operations.map(({ id }) => id)] : label === 'job' ? roles : null
  return known === null || value.split('|').every(one => (known as readonly string[]).includes(one))
    ? null
    : `${label} is never ${value}`
}

describe('alerts and the dashboard', () => {
  it.each(expressions)('%s: uses only exported metrics, and its brackets match', (_, expr) => {
    expect(unbalanced(expr)).toBe(null)
    const named = metricsOf(expr)
    expect(named.length).toBeGreaterThan(0)
    expect(named.filter(name => !exported.has(name) && !ofPrometheus.includes(name))).toEqual([])
    expect(matchersOf(expr).flatMap(matcher => mistakeOf(matcher) ?? [])).toEqual([])
  })

  it('use only metrics that the program sets', () => {
    const sources = globSync('services/**/*.ts').filter(path => path !== 'services/platform/telemetry/metrics.ts')
    const used = new Set(
      expressions.flatMap(([, expr]) => metricsOf(expr)).map(name => name.replace(/_(bucket|sum|count)$/, '')),
    )
    expect(unsetIn(sources.map(read).join('\n')).filter(name => used.has(name))).toEqual([])
    expect(unsetIn('').filter(name => used.has(name)).length).toBeGreaterThan(10)
  })

  it('cover everything that an operator must know', () => {
    const watched = new Set(rules.flatMap(({ expr }) => metricsOf(expr)))
    for (const name of [
      'wattledger_records_accepted_total',
      'wattledger_records_stored_total',
      'wattledger_records_dead_lettered_total',
      'wattledger_records_refused_total',
      'wattledger_records_unpriced_total',
      'wattledger_visible_lag_seconds_bucket',
      'wattledger_market_last_success_timestamp_seconds',
      'wattledger_http_requests_total',
      'wattledger_http_request_seconds_bucket',
      'wattledger_webhook_first_attempt_seconds_bucket',
      'up',
    ])
      expect(watched, name).toContain(name)
  })

  it('have unique names and a severity', () => {
    expect(new Set(rules.map(({ alert }) => alert)).size).toBe(rules.length)
    expect(rules.filter(({ labels }) => !['warning', 'critical'].includes(labels['severity'] ?? ''))).toEqual([])
  })

  it('query the data source of Grafana', () => {
    const provisioned = parse(read('deploy/grafana/provisioning/datasources/prometheus.yaml'))
    const uids = dashboard.panels.flatMap(({ datasource }) => (datasource === undefined ? [] : [datasource.uid]))
    expect(new Set(uids)).toEqual(new Set([provisioned.datasources[0].uid]))
  })
})

describe('Prometheus', () => {
  it('scrapes each role on its default port', () => {
    const port = environment.parse({}).WATTLEDGER_METRICS_PORT
    const jobs = prometheus.scrape_configs.map(({ job_name: name, dns_sd_configs: [found] }) => [
      name,
      found?.names,
      found?.port,
    ])
    expect(jobs).toEqual(roles.map(role => [role, [role], port]))
    expect(prometheus.rule_files).toEqual(['alerts.yaml'])
  })
})

describe('the parser of expressions finds', () => {
  it.each([
    ['a bracket that is not closed', 'sum(rate(a_total[5m])'],
    ['a bracket that closes nothing', 'a_total) > 1'],
    ['brackets of two kinds', 'sum(a_total[5m)]'],
  ])('%s', (_, expr) => expect(unbalanced(expr)).not.toBe(null))

  it('metrics, and neither functions, labels nor words in text', () => {
    const expr =
      'histogram_quantile(0.9, sum by (le, lane) (rate(a_bucket{b="c_total(",d=~"e|f"}[5m]))) > 2 or on(g) h offset 15m unless vector(0)'
    expect(metricsOf(expr)).toEqual(['a_bucket', 'h'])
    expect(matchersOf(expr)).toEqual([
      { metric: 'a_bucket', label: 'b', value: 'c_total(' },
      { metric: 'a_bucket', label: 'd', value: 'e|f' },
    ])
  })

  it('unknown labels, buckets, operations and jobs', () => {
    const metric = 'wattledger_http_requests_total'
    expect(mistakeOf({ metric, label: 'code', value: '500' })).toContain('code')
    expect(mistakeOf({ metric, label: 'operation', value: 'meter_sumbit' })).toContain('meter_sumbit')
    expect(mistakeOf({ metric: 'up', label: 'job', value: 'cost-worker|worker' })).toContain('worker')
    expect(mistakeOf({ metric: 'wattledger_visible_lag_seconds_bucket', label: 'le', value: '7' })).toContain('7')
    expect(mistakeOf({ metric: 'wattledger_visible_lag_seconds_bucket', label: 'le', value: '30' })).toBe(null)
  })
})

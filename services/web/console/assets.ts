import { readFileSync } from 'node:fs'
import { icon } from '../ui-kit/icon.ts'

/** Where the files are. */
export const assetPath = '/console/assets/'

type Asset = { readonly body: string; readonly mediaType: string }

const css = 'text/css; charset=utf-8'
const javascript = 'text/javascript; charset=utf-8'

const readText = (address: string): string => readFileSync(new URL(address), 'utf8')
const ownFile = (name: string): string => readText(new URL(name, import.meta.url).href)
const chartFile = (name: string): string => readText(new URL(name, import.meta.resolve('uplot')).href)

const loaders: Readonly<Record<string, () => Asset>> = {
  'page.css': () => ({
    body: ['../ui-kit/base.css', 'page.css', 'forms.css', 'tables.css'].map(ownFile).join('\n'),
    mediaType: css,
  }),
  'page.js': () => ({ body: ownFile('page.js'), mediaType: javascript }),
  'uplot.css': () => ({ body: chartFile('uPlot.min.css'), mediaType: css }),
  'uplot.js': () => ({ body: chartFile('uPlot.iife.min.js'), mediaType: javascript }),
  'icon.svg': () => ({ body: icon, mediaType: 'image/svg+xml' }),
}

const loaded = new Map<string, Asset>()

/** Find a file that pages of the console load; null where there is none. Each is read once. */
export const assetOf = (name: string): Asset | null => {
  const known = loaded.get(name) ?? (Object.hasOwn(loaders, name) ? loaders[name]?.() : undefined)
  if (known === undefined) return null
  loaded.set(name, known)
  return known
}

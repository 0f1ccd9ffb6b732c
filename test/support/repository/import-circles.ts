import { importsOf, resolveFrom, type Source } from './import-boundaries.ts'

/**
 * List circles of imports, each as its files in order of import, ` -> ` between them. Imports of types count. An empty
 * list means that there is no circle; otherwise each group of files that import each other has at least one entry.
 */
export const importCircles = (sources: readonly Source[]): readonly string[] => {
  const known = new Set(sources.map(({ path }) => path))
  const imports = new Map(
    sources.map(({ path, text }) => [
      path,
      importsOf(text).flatMap(specifier => {
        const target = specifier.startsWith('.') ? resolveFrom(path, specifier) : ''
        return known.has(target) ? [target] : []
      }),
    ]),
  )
  const circles: string[] = []
  const way: string[] = []
  const ended = new Set<string>()
  const visit = (path: string): void => {
    if (ended.has(path)) return
    const start = way.indexOf(path)
    if (start >= 0) {
      circles.push([...way.slice(start), path].join(' -> '))
      return
    }
    way.push(path)
    for (const target of imports.get(path) ?? []) visit(target)
    way.pop()
    ended.add(path)
  }
  for (const { path } of sources) visit(path)
  return circles
}

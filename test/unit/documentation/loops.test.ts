import { globSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

/** Loops of shell code that can wait for ever: no loop over a list, and no sentence after a minute. */
const endlessLoops = (page: string): readonly string[] =>
  [...page.matchAll(/^```(?:sh\b.*|shell|bash)?\n([\s\S]*?)^```$/gm)].flatMap(([, code = '']) =>
    [...code.matchAll(/^ *(?:until|while) [\s\S]*?\bdone\b.*\n.*/gm)]
      .map(([loop]) => loop)
      .filter(loop => !/date \+%s/.test(loop) || !/after a minute/.test(loop)),
  )

const pages = ['README.md', 'deploy/README.md', ...globSync('docs/**/*.md'), ...globSync('clients/**/README.md')]

describe('the shell code of the documentation', () => {
  it('has loops that end after a minute with a sentence', () => {
    const texts = pages.filter(path => !path.includes('node_modules')).map(path => readFileSync(path, 'utf8'))
    expect(texts.join('').match(/^ *(?:until|while) /gm)?.length).toBeGreaterThan(4)
    expect(texts.flatMap(endlessLoops)).toEqual([])
  })

  it('is refused with an endless loop', () => {
    expect(endlessLoops('```sh first\nuntil curl -s $URL; do sleep 1; done\n```\n')).toHaveLength(1)
    expect(endlessLoops('```\nwhile :; do\n  curl -s $URL\ndone\n```\n')).toHaveLength(1)
  })
})

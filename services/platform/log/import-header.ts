import type { Headers } from './log.ts'
import type { Submission } from './messages.ts'

/**
 * Write the header with the import of a submission, as `import:ID` or `undo:ID`. It is a header, so that an earlier release
 * ignores it.
 */
export const toImportHeader = (ofImport: Submission['ofImport']): Headers =>
  ofImport === undefined ? {} : { import: `${ofImport.isUndo ? 'undo' : 'import'}:${ofImport.id}` }

/** Return the import that a header names, as a member of the submission. */
export const fromImportHeader = ({ import: text }: Headers): Pick<Submission, 'ofImport'> => {
  const [, kind, id] = /^(import|undo):(.+)$/.exec(text ?? '') ?? []
  return id === undefined ? {} : { ofImport: { id, isUndo: kind === 'undo' } }
}

import { type ConsoleArea, getRoute } from '../../console/console-request.ts'
import { importPath, undoPagePath } from './import-form.ts'
import { importAnswers, importForm } from './import-pages.ts'
import { undoAnswers } from './undo-pages.ts'

/** Pages that import readings and undo imports. Their entry follows that of the corrections. */
export const importArea: ConsoleArea = {
  entry: { path: importPath, name: 'Import readings', access: 'metering', after: '/console/corrections' },
  open: dependencies => ({
    routes: [getRoute(importPath, importForm(dependencies))],
    ownAnswers: [
      // The form has a file.
      { methods: ['POST'], path: importPath, readsForm: true, answer: importAnswers(dependencies) },
      { methods: ['GET', 'POST'], path: undoPagePath(':id'), readsForm: false, answer: undoAnswers(dependencies) },
    ],
  }),
}

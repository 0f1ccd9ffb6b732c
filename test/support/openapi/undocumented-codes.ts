/** Operations and codes of the checked answers of this test file whose document does not list the code. */
export const undocumentedCodes = new Set<string>()

/**
 * The script that creates the schema of all migrations, for each engine. Empty here: only the bundler writes them
 * (`scripts/bundle.ts`), because a start would need longer to compile the migrations than to load their script.
 */
export const newSchemaScripts: { readonly sqlite?: string; readonly postgres?: string } = {};

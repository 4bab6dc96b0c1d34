import js from '@eslint/js';
import { defineConfig } from 'eslint/config';
import tseslint from 'typescript-eslint';

export default defineConfig(
  {
    ignores: [
      'dist/',
      'docs/api/',
      'docs/.vitepress/.temp/',
      'coverage/',
      '.cache/',
      'tsup.config.bundled_*',
      'test/package/consumer/',
      'test/package/projects/',
    ],
  },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  js.configs.recommended,
  {
    files: ['**/*.ts'],
    extends: [tseslint.configs.strictTypeChecked, tseslint.configs.stylisticTypeChecked],
    languageOptions: {
      parserOptions: { project: ['./tsconfig.json', './src/dashboard/page/tsconfig.json'] },
    },
    rules: {
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true }],
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      '@typescript-eslint/no-unnecessary-condition': [
        'error',
        { allowConstantLoopConditions: 'only-allowed-literals' },
      ],
      eqeqeq: 'error',
    },
  },
  { files: ['src/**/*.ts'], ignores: ['src/cli/**'], rules: { 'no-console': 'error' } },
  {
    files: ['src/cli/**'],
    rules: {
      'no-restricted-properties': [
        'error',
        { object: 'AbortSignal', property: 'timeout', message: 'Use TimeLimit.' },
      ],
    },
  },
  {
    // The garbage collector may take a handle that nobody keeps, and the library then gives its lock back.
    files: ['test/**/*.ts'],
    rules: {
      'no-restricted-syntax': [
        'error',
        ...[
          '',
          'ChainExpression > ',
          'CallExpression:matches([callee.property.name=/^until/], [callee.name=/^until/]) > ',
        ].map((chain) => ({
          selector: `ExpressionStatement > AwaitExpression > ${chain}CallExpression[callee.property.name=/^(try)?acquire/i]`,
          message: 'Keep the handle: use keepHold, or release it.',
        })),
      ],
    },
  },
  {
    files: ['**/*.mjs'],
    languageOptions: {
      globals: {
        URL: 'readonly',
        clearInterval: 'readonly',
        console: 'readonly',
        process: 'readonly',
        setInterval: 'readonly',
      },
    },
  },
);

import { render } from 'preact';
import { installHook } from './hook';
import { startKeys } from './store/commands';
import { startLocation } from './store/location';
import { startScale } from './store/scale';
import { startTheme } from './store/theme';
import { App } from './views/App';
import './styles/base.css';
import './styles/layout.css';
import './styles/panels.css';

startTheme();
startKeys();
installHook();
const root = document.getElementById('app')!;
startScale(root);
render(<App />, root);
startLocation();
